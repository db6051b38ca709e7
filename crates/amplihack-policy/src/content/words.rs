//! The words that the content rules know, in classes.

/// A set of word classes, one bit each.
pub(super) type ClassSet = u64;

macro_rules! classes {
    ($($name:ident)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "names the bits below, is used nowhere else")]
        #[repr(u8)]
        enum ClassBit { $($name),* }
        $(pub(super) const $name: ClassSet = 1 << ClassBit::$name as u8;)*
    };
}

classes! {
    IGNORE BYPASS PREV ALL YOUR INSTR PROMPT RULES NEW TASK IS YOU MUST HAVE NO RESTRICT FILTER SAFETY
    MODE DEV DEVMODE PRETEND AI ANSWER UNRESTRICTED DAN DISABLE OFF NOW SEND SECRET TO_WHERE REVEAL SYSTEM
    RUN COMMAND MARK META NEG APPEND TOKEN REPLY EVERYTHING TOLD YOU_ARE_NOW ENDS COLON COMPLY REQUEST
    CONCEAL TOOL CALL DELETE GRANT NOTE HIDDEN FROM_NOW VOID ANYTHING_NOW TOKEN_MARK MEMORY DECODE CODEC
    BEGINS
}

/// Classes with their words, folded as [`super::fold`] does. A word may be in several.
pub(super) const GROUPS: &[(ClassSet, &str)] = &[
    (
        IGNORE,
        "ignore disregard forget ignoring disregarding forgetting neglect ignoriere ignorieren \
         ignoriert vergiss vergesse vergessen missachte missachten negeer vergeet ignorez ignorer \
         oublie oubliez oublier ignora ignorar ignoren olvida olvide olvidar omite esqueca esquece \
         esquecer desconsidere desconsidera ignori ignorate ignorare dimentica dimenticate \
         dimenticare trascura zignoruj ignoruj zapomnij игнорируи игнорируите проигнорируи \
         проигнорируите забудь забудьте تجاهل انس انسى अनदेखा भूल नजरअंदाज",
    ),
    (
        BYPASS,
        "bypass override overrule discard dismiss skip abandon overwrite supersede supersedes \
         violate circumvent",
    ),
    (
        PREV,
        "previous prior above earlier preceding foregoing former before previously initial \
         original existing vorherigen vorherige bisherigen bisherige fruheren obigen obige oben \
         vorigen vorangegangenen vorige eerdere voorgaande bovenstaande precedentes precedente \
         precedent precede anterieures dessus anteriores anterior previas previos arriba acima \
         antes precedenti sopra poprzednie wczesniejsze powyzsze предыдущие предыдущих прежние \
         прошлые выше ранее السابقة سبق पिछले पिछली पूर्व ऊपर",
    ),
    (
        ALL,
        "all any every entire whole alle allen samtliche toutes tous tout todas todos toda todo \
         tutte tutti wszystkie все всех كل جميع सभी",
    ),
    (EVERYTHING, "everything anything alles tudo tutto todo tout все सब"),
    (
        YOUR,
        "your deine deinen deiner dein ihre ton tes votre vos tu tus seu seus suas sua teu teus \
         tuoi tuo tue jouw uw свои своих твои अपना अपने الخاص",
    ),
    (
        INSTR,
        "instruction instructions directive directives programming anweisung anweisungen \
         instruktionen vorgaben systemanweisungen instructies aanwijzingen opdrachten consignes \
         instrucciones instruccion indicaciones instrucoes instrucao istruzioni istruzione \
         instrukcje polecenia инструкции инструкциям указания команды التعليمات تعليمات الاوامر \
         निर्देशों निर्देश",
    ),
    (PROMPT, "prompt prompts systemprompt промпт موجه प्रॉम्प्ट"),
    (
        RULES,
        "rules rule guideline guidelines policy policies guardrail guardrails safeguards protocols \
         protocol constraints restrictions limitations orders commands messages training regeln \
         richtlinien regels richtlijnen regles reglas normas regras regole правила правил القواعد \
         नियमों",
    ),
    (
        NEW,
        "new updated real actual true neue neuen nouvelles nouvelle nuevas nueva novas nova nuove \
         nuova nieuwe новые следующие following",
    ),
    (TASK, "task goal objective mission purpose role identity job aufgabe ziel"),
    (IS, "is are ist sind est sont es son sao sono"),
    (
        YOU,
        "you du dich dir vous te usted voce ti eres sei hast bist tienes tem jij je ты тебя вы انت \
         ليس तुम तुम्हें",
    ),
    (MUST, "must shall musst dois debes deve devi должен"),
    (HAVE, "have had having has are be being am"),
    (
        NO,
        "no without zero none free nolonger keine keinen kein ohne geen zonder sans aucune aucun \
         sin ninguna ningun sem nenhuma nenhum senza nessuna alcuna bez без нет никаких بلا دون \
         बिना नहीं",
    ),
    (
        RESTRICT,
        "restrictions restriction guidelines censorship limitations ethics morals guardrails \
         einschrankungen beschrankungen einschraenkungen richtlinien beperkingen limites \
         restricciones limitaciones restricoes restrizioni limitazioni ograniczen ограничении قيود \
         प्रतिबंध",
    ),
    (
        FILTER,
        "rules filter filters limits constraints boundaries censor rule regeln regles reglas \
         regole regras filtro filtre",
    ),
    (SAFETY, "safety ethical moral ethics alignment sicherheitsrichtlinien"),
    (MODE, "mode modus modo modalita"),
    (
        DEV,
        "developer dev debug god sudo root admin maintenance desarrollador desarrollo developpeur \
         desenvolvedor sviluppatore разработчика",
    ),
    (DEVMODE, "entwicklermodus"),
    (PRETEND, "pretend roleplay impersonate"),
    (
        AI,
        "ai llm llms assistant assistants agent agents chatbot bot model models gpt chatgpt claude \
         copilot codex ki ia asistente assistente assistent version",
    ),
    (
        ANSWER,
        "answer respond reply comply proceed responda responde rispondi reponds antworte \
         beantworte antworten rispondere repondre responder",
    ),
    (
        UNRESTRICTED,
        "unrestricted uncensored unfiltered jailbroken unbound unlimited amoral jailbreak \
         uneingeschrankt unzensiert",
    ),
    (DAN, "dan aim stan dude"),
    (DISABLE, "disable remove deactivate lift suspend deaktiviere"),
    (OFF, "disabled off lifted removed suspended bypassed deactivated"),
    (NOW, "now jetzt nun maintenant desormais ahora agora ora adesso теперь отныне الان अब nu ab"),
    (
        SEND,
        "send post upload forward email exfiltrate transmit leak submit envoie envoyer sende \
         schicke envia invia",
    ),
    (
        SECRET,
        "password passwords credential credentials secrets tokens id_rsa apikey apikeys cookies \
         api_key api_keys env_vars passphrase passwd kubeconfig donnees secret_key access_token",
    ),
    (TO_WHERE, "attacker webhook pastebin externally inbox"),
    (
        REVEAL,
        "reveal print show repeat output display tell leak dump disclose expose recite zeige zeig \
         verrate gib revele revelez affiche montre muestra revela mostra rivela mostre toon покажи \
         раскрои اعرض दिखाओ printing revealing showing",
    ),
    (
        SYSTEM,
        "system systeme sistema hidden initial secret internal verbatim exact системныи النظام \
         सिस्टम wortwortlich",
    ),
    (RUN, "run execute invoke launch paste"),
    (COMMAND, "command commands script shell terminal code bash curl wget powershell"),
    (
        META,
        "attacker attackers adversary adversaries attack attacks injection injections jailbreaks \
         malicious untrusted payload payloads example examples phrase phrases pattern patterns \
         detect detects detected detecting detection detector block blocks blocked blocking deny \
         denies denied reject rejects rejected scanner scanners fixture sample samples saying says \
         contains containing eg vulnerable mitigation mitigations assert asserts asserteq testcase",
    ),
    (
        NEG,
        "not never dont doesnt cannot cant wont shouldnt mustnt didnt isnt nicht niemals nunca \
         jamais non не",
    ),
    (APPEND, "append include add insert prepend begin start reply respond repeat write"),
    (TOKEN, "token canary verbatim exact code phrase password"),
    (REPLY, "reply replies response responses summary summaries answer answers review conversation"),
    (TOLD, "told said discussed instructed given learned know besprochen gesagt"),
    (COMPLY, "follow comply obey grant fulfill fulfil befolge befolgst"),
    (REQUEST, "request requests header headers endpoint"),
    (
        TOOL,
        "send_email delete_file http_post http_get read_file write_file run_command \
         execute_command fetch_url send_message transfer_money send_money delete_files bash_tool \
         upload_file execute_code run_shell shell_exec create_user",
    ),
    (VOID, "supersedes supersede"),
    (DECODE, "decode decoding translate unscramble"),
    (CODEC, "base64 rot13 hex binary encoded cipher morse"),
    (CALL, "call use invoke calling"),
    (DELETE, "delete wipe erase destroy empty rm"),
    (GRANT, "grant reveal confidential unrestricted admin"),
    (
        NOTE,
        "note notice attention important message instruction instructions hinweis nota reading \
         processing",
    ),
    (MEMORY, "memory remember persist persists permanently"),
    (
        MARK,
        "im_start im_end im_sep system inst sys eot_id start_header_id endoftext assistant \
         start_of_turn end_of_turn begin_of_text function_calls function_results tool_call \
         tool_use tool_result tool_response invoke user",
    ),
    (
        0,
        "from on act as do anything longer apply take precedence content api keys key private ssh \
         environment variables variable the user telling informing asking alerting notifying \
         mention inform alert notify imagine behave turn history customer list compromised void at \
         this partir de ahi sofort users env access aws to changed http https and it",
    ),
];

/// Words of scripts that put no blanks between them.
pub(super) const DENSE: &[(&str, ClassSet)] = &[
    ("忽略", IGNORE),
    ("无视", IGNORE),
    ("無視", IGNORE),
    ("忘记", IGNORE),
    ("忘記", IGNORE),
    ("忘れ", IGNORE),
    ("무시", IGNORE),
    ("잊어", IGNORE),
    ("不要理会", IGNORE),
    ("之前", PREV),
    ("以前", PREV),
    ("先前", PREV),
    ("上面", PREV | ENDS),
    ("上述", PREV),
    ("これまで", PREV),
    ("上記", PREV),
    ("上に", PREV),
    ("이전", PREV),
    ("앞의", PREV),
    ("所有", ALL),
    ("全部", ALL),
    ("一切", ALL | EVERYTHING),
    ("すべて", ALL | EVERYTHING),
    ("全て", ALL | EVERYTHING),
    ("모든", ALL),
    ("指令", INSTR),
    ("指示", INSTR),
    ("命令", INSTR),
    ("规则", INSTR),
    ("規則", INSTR),
    ("提示词", INSTR),
    ("プロンプト", INSTR),
    ("ルール", INSTR),
    ("지시", INSTR),
    ("명령", INSTR),
    ("지침", INSTR),
    ("你现在", NOW | YOU),
    ("从现在", NOW),
    ("今から", NOW),
    ("あなたは今", NOW | YOU),
    ("これから", NOW),
    ("지금부터", NOW),
    ("이제", NOW),
    ("开发者模式", DEVMODE),
    ("開發者模式", DEVMODE),
    ("開発者モード", DEVMODE),
    ("개발자 모드", DEVMODE),
    ("没有任何", NO),
    ("没有", NO),
    ("不受", NO),
    ("のない", NO),
    ("ありません", NO),
    ("없이", NO),
    ("없는", NO),
    ("一切の", NO),
    ("제한", RESTRICT),
    ("限制", RESTRICT),
    ("制限", RESTRICT),
    ("显示", REVEAL),
    ("表示し", REVEAL),
    ("系统", SYSTEM),
    ("システム", SYSTEM),
];

#[cfg(test)]
mod tests {
    use super::super::fold::{FoldedChar, fold_char};
    use super::*;

    #[test]
    fn every_word_is_written_as_text_is_folded() {
        for word in GROUPS.iter().flat_map(|(_, words)| words.split(' ')) {
            let folded: String = word
                .chars()
                .filter_map(|c| match c {
                    'a'..='z' | '0'..='9' | '_' => Some(c),
                    c if c.is_ascii() => None,
                    c => match fold_char(c) {
                        FoldedChar::Letter { plain, .. } => Some(plain),
                        _ => None,
                    },
                })
                .collect();
            assert_eq!(folded, word, "put the folded word into the table");
            assert!(word.len() > 1, "words of one letter are not looked for");
        }
    }
}
