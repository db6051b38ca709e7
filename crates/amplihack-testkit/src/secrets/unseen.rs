//! A second corpus: other kinds and other surroundings, written when the scanner's rules were done, and before they were mended by it.

use super::elsewhere::{alike, surroundings};
use super::{Draw, SecretCase};

/// Credentials and look-alikes, drawn with `seed`.
pub fn unseen(seed: u64) -> Vec<SecretCase> {
    let mut cases = providers(&mut Draw::new(seed + 20));
    cases.extend(named(&mut Draw::new(seed + 21)));
    cases.extend(surroundings(&mut Draw::new(seed + 22)));
    cases.extend(alike(&mut Draw::new(seed + 23)));
    cases
}

/// Credentials whose shape tells whose they are.
fn providers(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "1password service account",
            "op.sh",
            "op account add --token §\n",
            format!("ops_{}{}", "eyJ", draw.alnum(260)),
        ),
        case(
            "airtable personal token",
            "base.js",
            "new Airtable({ apiKey: '§' })\n",
            format!("{}{}.{}", "pat", draw.alnum(14), draw.hex(64)),
        ),
        case(
            "alibaba access key",
            "oss.go",
            "client, err := oss.New(endpoint, \"§\", secret)\n",
            format!("{}{}", "LTAI", draw.alnum(20)),
        ),
        case(
            "adobe client secret",
            "adobe.yml",
            "ims:\n  value: §\n",
            format!("{}{}", "p8e-", draw.alnum(32)),
        ),
        case(
            "artifactory key",
            "conan.txt",
            "conan remote login art ci -p §\n",
            format!("{}{}", "AKCp", draw.alnum(69)),
        ),
        case(
            "atlassian token",
            "jira.py",
            "jira = JIRA(server, basic_auth=(mail, '§'))\n",
            format!("{}{}={}", "ATATT3", draw.url(180), draw.of("0123456789ABCDEF", 8)),
        ),
        case(
            "aws bedrock key",
            "bedrock.env",
            "AWS_BEARER_TOKEN_BEDROCK=§\n",
            format!("{}{}", "ABSK", draw.base64(128)),
        ),
        case(
            "clojars token",
            "project.clj",
            ":deploy-repositories [[\"clojars\" {:password \"§\"}]]\n",
            format!("{}{}", "CLOJARS_", draw.lower(60)),
        ),
        case(
            "cloudflare origin key",
            "origin.log",
            "using § for the origin\n",
            format!("v1.0-{}-{}", draw.hex(24), draw.hex(146)),
        ),
        case(
            "doppler token",
            "doppler.tf",
            "provider \"doppler\" {\n  doppler_token = \"§\"\n}\n",
            format!("{}{}", "dp.pt.", draw.lower(43)),
        ),
        case(
            "duffel token",
            "flights.rb",
            "Duffel.new('§')\n",
            format!("{}{}", "duffel_live_", draw.url(43)),
        ),
        case(
            "dynatrace token",
            "dt.sh",
            "curl -H \"Authorization: Api-Token §\" https://x.live.dynatrace.com\n",
            format!("{}{}.{}", "dt0c01.", draw.base32(24), draw.base32(64)),
        ),
        case(
            "easypost key",
            "ship.py",
            "client = easypost.EasyPostClient(\"§\")\n",
            format!("{}{}", "EZAK", draw.alnum(54)),
        ),
        case(
            "facebook page token",
            "fb.php",
            "$fb->setDefaultAccessToken('§');\n",
            format!("{}{}", "EAAM", draw.alnum(120)),
        ),
        case(
            "flutterwave key",
            "pay.dart",
            "final flw = Flutterwave('§');\n",
            format!("{}{}-X", "FLWSECK_TEST-", draw.of("0123456789abcdefgh", 32)),
        ),
        case(
            "fly.io token",
            "fly.toml",
            "# flyctl auth token: §\napp = \"shop\"\n",
            format!("{}{}", "fo1_", draw.url(43)),
        ),
        case("frame.io token", "frame.sh", "frameio --auth §\n", format!("{}{}", "fio-u-", draw.url(64))),
        case(
            "github token in json log",
            "app.ndjson",
            "{\"level\":\"debug\",\"msg\":\"git clone https://x:§@github.com/a/b\\n\"}\n",
            format!("{}{}", "ghs_", draw.alnum(36)),
        ),
        case(
            "infracost key",
            "infracost.yml",
            "version: 0.1\napi: §\n",
            format!("{}{}", "ico-", draw.alnum(32)),
        ),
        case(
            "mapbox token",
            "map.swift",
            "MapboxOptions.accessToken = \"§\"\n",
            format!("sk.{}.{}", draw.alnum(60), draw.alnum(22)),
        ),
        case(
            "microsoft teams webhook",
            "teams.ps1",
            "Invoke-RestMethod -Uri '§' -Method Post\n",
            format!(
                "https://acme.webhook.office.com/webhookb2/{}@{}/IncomingWebhook/{}/{}",
                draw.uuid(),
                draw.uuid(),
                draw.hex(32),
                draw.uuid()
            ),
        ),
        case(
            "netlify token",
            "netlify.sh",
            "netlify deploy --auth §\n",
            format!("{}{}", "nfp_", draw.alnum(36)),
        ),
        case(
            "octopus deploy key",
            "octo.ps1",
            "octo push --server https://o.acme.dev --apiKey §\n",
            format!("{}{}", "API-", draw.base32(26)),
        ),
        case(
            "openshift token",
            "oc.sh",
            "oc login --token=§ --server=https://api.acme.dev:6443\n",
            format!("{}{}", "sha256~", draw.url(43)),
        ),
        case(
            "perplexity key",
            "ask.py",
            "headers = {'Authorization': 'Bearer §'}\n",
            format!("{}{}", "pplx-", draw.alnum(48)),
        ),
        case("planetscale password", "prisma.env", "PSCALE=§\n", format!("{}{}", "pscale_pw_", draw.url(43))),
        case("planetscale token", "ps.yml", "service: §\n", format!("{}{}", "pscale_tkn_", draw.url(43))),
        case("prefect token", "flow.py", "set_cloud('§')\n", format!("{}{}", "pnu_", draw.lower(36))),
        case(
            "pulumi token",
            "Pulumi.md",
            "Run `pulumi login` with §.\n",
            format!("{}{}", "pul-", draw.hex(40)),
        ),
        case("readme key", "rdme.js", "rdme.auth('§')\n", format!("{}{}", "rdme_", draw.lower(70))),
        case(
            "rubygems key",
            "gem/credentials",
            "---\n:rubygems: §\n",
            format!("{}{}", "rubygems_", draw.hex(48)),
        ),
        case(
            "scalingo token",
            "scalingo.sh",
            "scalingo login --api §\n",
            format!("{}{}", "tk-us-", draw.url(48)),
        ),
        case(
            "sendinblue key",
            "mail.cs",
            "Configuration.Default.ApiKey.Add(\"api-key\", \"§\");\n",
            format!("{}{}-{}", "xkeysib-", draw.hex(64), draw.alnum(16)),
        ),
        case("sentry user token", "sentryclirc", "[auth]\nx=§\n", format!("{}{}", "sntryu_", draw.hex(64))),
        case(
            "sentry org token",
            "vite.config.ts",
            "sentryVitePlugin({ org: 'acme', authToken: \"§\" })\n",
            format!("{}{}_{}", "sntrys_eyJpYXQiOjE3", draw.alnum(200), draw.base64(43)),
        ),
        case("shippo token", "label.ts", "shippo('§')\n", format!("{}{}", "shippo_live_", draw.hex(40))),
        case("sonar token", "sonar.yml", "args: -Dsonar.x=§\n", format!("{}{}", "squ_", draw.hex(40))),
        case("typeform token", "form.js", "createClient('§')\n", format!("{}{}", "tfp_", draw.url(59))),
        case("vault batch token", "vault.log", "issued §\n", format!("{}{}", "hvb.", draw.url(150))),
        case(
            "yandex cloud key",
            "yc.py",
            "sdk = yandexcloud.SDK(iam='§')\n",
            format!("{}{}", "AQVN", draw.url(36)),
        ),
        case(
            "supabase key",
            "supabase.dart",
            "Supabase.initialize(url: url, serviceKey: '§');\n",
            format!("{}{}", "sb_secret_", draw.url(31)),
        ),
        case(
            "replicate token",
            "predict.js",
            "new Replicate({ auth: \"§\" })\n",
            format!("{}{}", "r8_", draw.alnum(37)),
        ),
        case(
            "figma token",
            "figma.sh",
            "curl -H 'X-Figma-Token: §' https://api.figma.com/v1/me\n",
            format!("{}{}", "figd_", draw.url(40)),
        ),
        case(
            "buildkite token",
            "agent.cfg",
            "tags=\"linux\"\nx=\"§\"\n",
            format!("{}{}", "bkua_", draw.hex(40)),
        ),
        case(
            "tailscale key",
            "cloud-init.yml",
            "runcmd:\n  - tailscale up --auth-key=§\n",
            format!("{}{}-{}", "tskey-auth-", draw.alnum(17), draw.alnum(33)),
        ),
    ]
}

/// Credentials that a provider's name and an assignment tell.
fn named(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case("algolia admin key", "search.js", "const algoliaAdminApiKey = \"§\";\n", draw.hex(32)),
        case("alibaba secret", "oss.env", "ALIBABA_CLOUD_ACCESS_KEY_SECRET=§\n", draw.lower(30)),
        case("bitbucket secret", "bb.properties", "bitbucket.client.secret=§\n", draw.alnum(64)),
        case("cloudflare token", "cf.yaml", "cloudflare_api_token: §\n", draw.url(40)),
        case("cloudflare global key", "cf.env", "CLOUDFLARE_API_KEY=§\n", draw.hex(37)),
        case("codecov token", "codecov.yml", "codecov_token: \"§\"\n", draw.uuid()),
        case("cohere key", "rerank.py", "CO_API_KEY = \"§\"\n", draw.alnum(40)),
        case("coinbase token", "coin.py", "coinbase_access_token = '§'\n", draw.url(64)),
        case("confluent secret", "kafka.properties", "confluent.secret.key=§\n", draw.alnum(64)),
        case("dropbox secret", "backup.toml", "dropbox_app_secret = \"§\"\n", draw.lower(15)),
        case("fastly token", "fastly.sh", "export FASTLY_API_TOKEN=\"§\"\n", draw.url(32)),
        case("hubspot token", "crm.rb", "HUBSPOT_TOKEN = '§'\n", format!("pat-na1-{}", draw.uuid())),
        case("intercom token", "support.ts", "const intercomAccessToken = \"§\";\n", draw.alnum(60)),
        case("jfrog key", "settings.gradle.kts", "val jfrogApiKey = \"§\"\n", draw.alnum(73)),
        case("launchdarkly token", "ld.tf", "  launchdarkly_access_token = \"§\"\n", draw.url(40)),
        case("mailchimp key", "mc.php", "$mailchimp_api_key = '§';\n", format!("{}-us20", draw.hex(32))),
        case("okta token", "okta.yaml", "okta:\n  apiToken: \"§\"\n", format!("00{}", draw.url(40))),
        case("plaid secret", "plaid.env", "PLAID_SECRET=§\n", draw.hex(30)),
        case("snyk token", "snyk.yml", "  SNYK_TOKEN: §\n", draw.uuid()),
        case("sumologic access key", "sumo.conf", "sumologic.accessKey = §\n", draw.alnum(64)),
        case("travis token", "travis.rb", "travis_ci_token = \"§\"\n", draw.alnum(22)),
        case("twitch secret", "twitch.json", "{\"twitchClientSecret\": \"§\"}\n", draw.lower(30)),
        case("twitter secret", "tw.py", "twitter_api_secret = \"§\"\n", draw.alnum(50)),
        case("zendesk secret", "zd.yml", "zendesk_secret_key: \"§\"\n", draw.lower(40)),
        case(
            "django secret",
            "settings.py",
            "SECRET_KEY = 'django-§'\n",
            draw.of("abcdefghijklmnopqrstuvwxyz0123456789!@^&*(-_=+)", 50),
        ),
        case("rails master key", "env.production", "RAILS_MASTER_KEY=§\n", draw.hex(32)),
        case("laravel key", "laravel.env", "APP_KEY=base64:§\n", format!("{}=", draw.base64(43))),
        case("flask key", "flask.py", "app.secret_key = b'§'\n", draw.hex(48)),
    ]
}
