#!/bin/sh
# The @EVENT@ hook of GitHub Copilot CLI in this repository. Made by `amplihack install --scope repo`, taken away by
# `amplihack uninstall --scope repo`. It holds no path of a machine, so it can be committed.

deny() {
    printf '%s\n' "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"$1\",\"message\":\"$1\"}"
    exit 0
}

pass() {
    echo "amplihack: $1" >&2
    echo '{}'
    exit 0
}

# The first program of this name on PATH or in a usual place, by its absolute path.
find_program() {
    found=$(command -v "$1" 2>/dev/null) || found=
    for candidate in "$found" "${AMPLIHACK_HOME:-$HOME/.amplihack}/bin/$1" "$HOME/.amplihack/bin/$1" "$HOME/.local/bin/$1" \
        "$HOME/.cargo/bin/$1"; do
        case $candidate in
        /*) if [ -f "$candidate" ] && [ -x "$candidate" ]; then printf '%s' "$candidate" && return 0; fi ;;
        esac
    done
    return 1
}

@HERE@
# Standard input is read once, by the one process that answers.
if program=$(find_program amplihack-hooks); then
    answer=$("$program" @CALL@ --host copilot@SIGN@)
elif program=$(find_program amplihack); then
    answer=$("$program" hook @CALL@ --host copilot@SIGN@)
else
    @FALLBACK@ 'amplihack-hooks was not found; install amplihack, or run amplihack uninstall --scope repo'
fi
status=$?
[ "$status" = 0 ] || @FALLBACK@ "the guard ended with code $status and is not to be trusted; run amplihack doctor"
case $answer in
@TOKEN@*) answer=${answer#@TOKEN@} ;;
*) @FALLBACK@ 'what answered is not the guard; run amplihack doctor' ;;
esac
case $answer in
'') echo '{}' ;;
'{'*'}') printf '%s\n' "$answer" ;;
*) @FALLBACK@ 'the guard answered something else than an object; run amplihack doctor' ;;
esac
