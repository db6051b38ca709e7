# ---------------------------------------------------------------- verbs

verb=${1-} && [ $# -gt 0 ] && shift
# A task is a copy of this file in the scheduler's own place.
[ "$verb" = task ] && [ $# -eq 3 ] && export AMPLIHACK_REMOTE_ROOT="$2" && self=$3
root=${AMPLIHACK_REMOTE_ROOT:-${HOME:?}/.amplihack/remote}
case $root in /*) ;; *) fail 64 'AMPLIHACK_REMOTE_ROOT is not absolute' ;; esac
sessions=$root/sessions objects=$root/objects
# Where work trees lie: in a root of the user's own beside the state; else with the user's data, for the guard lets no agent write below
# the home of amplihack.
trees=${HOME-}/.amplihack home=${AMPLIHACK_HOME:-$trees}
case $root/ in
"${home%/}"/* | "$trees"/*)
  case ${XDG_DATA_HOME-} in /*) trees=$XDG_DATA_HOME ;; *) trees=${HOME:?}/.local/share ;; esac
  trees=$trees/amplihack/remote
  ;;
*) trees=$root/work ;;
esac
mkdir -p "$root" || fail 74 "$root cannot be made"
# A session that this is called from is not the session that is meant.
unset AMPLIHACK_SESSION_ID AMPLIHACK_REMOTE_SESSION
# Nor is this another repository's.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_PREFIX
# Logins without a terminal often miss the places where people put their programs.
for place in "${HOME-}/.local/bin" "${HOME-}/bin" "${HOME-}/.cargo/bin" /usr/local/bin; do
  case :$PATH: in *:"$place":*) ;; *) PATH=$PATH:$place ;; esac
done
export PATH
case $verb in
run) run "$@" ;;
program) program "$@" ;;
task) task "$@" ;;
*)
  # What a login said before this is none of the answer.
  echo 'amplihack-runner 1'
  case $verb in
  probe) probe "$@" ;;
  has) has "$@" ;;
  put) put "$@" ;;
  start) begin "${1-}" start ;;
  prepare) begin "${1-}" prepare ;;
  submit) submit "$@" ;;
  observe) observe "$@" ;;
  read) read_log "$@" ;;
  setup) need_session "${1-}" && cat "$sessions/$1/setup.log" ;;
  end) end "$@" ;;
  collect) collect "$@" ;;
  fetch)
    need_session "${1-}" && is_number "${2-}" || fail 64 'fetch needs an offset'
    bytes "$sessions/$1/results.bundle" "$2"
    ;;
  remove) remove "$@" ;;
  *) fail 64 "there is no verb '$verb'" ;;
  esac
  ;;
esac
