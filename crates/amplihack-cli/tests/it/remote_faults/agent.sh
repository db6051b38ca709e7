#!/bin/sh
# A stand-in for claude on the machines of sessions: it writes down each run, and answers as claude does. With a prompt
# `hold WORD` it goes on until there is a file `go` or `go-WORD` in the home.
case ${1-} in --version) echo '2.1.332 (Claude Code)' && exit ;; esac
session=$AMPLIHACK_REMOTE_SESSION
echo "${session##*/}" >>"$HOME/ran"
cat >/dev/null
# The session's first hook, as the launch registered it: without one the launch would say that its guard is not in force.
hook=$(printf '%s\n' "$@" | sed -n 's/.*"SessionStart":\[{"hooks":\[{"command":"\([^"]*\)".*/\1/p')
[ -z "$hook" ] || printf '{"hook_event_name":"SessionStart","session_id":"s1","cwd":"%s"}' "$PWD" | sh -c "$hook" >/dev/null
say() { printf '{"type":"assistant","session_id":"s1","message":{"id":"m%s","content":[{"type":"text","text":"%s"}]}}\n' "$1" "$2"; }
echo '{"type":"system","subtype":"init","session_id":"s1","model":"fake"}'
prompt=$(cat "$session/prompt")
case $prompt in
hold*)
  i=0
  until [ -e "$HOME/go" ] || [ -e "$HOME/go-${prompt##* }" ]; do
    i=$((i + 1))
    say "$i" "tick $i"
    sleep 0.2
  done
  ;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"AMPLIHACK-STATUS: {\"status\":\"done\",\"summary\":\"x\",\"changes\":false}"}'
