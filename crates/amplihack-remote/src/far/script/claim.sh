# ---------------------------------------------------------------- a session is received

# take LENGTH FILE: so many bytes of stdin, and the line break after them. dd reads no byte too many, which head may do.
take() {
  is_number "$1" || fail 64 "'$1' is no length"
  dd ibs=1 obs=65536 count="$1" 2>/dev/null >"$2" || fail 74 "a value cannot be written below $root"
  [ "$(wc -c <"$2")" -eq "$1" ] || fail 64 'the session ends in a value'
  IFS= read -r line && [ -z "$line" ] || fail 64 'a value is longer than announced'
}
# receive DIR: the session on stdin becomes files in DIR, its secrets files in DIR/secret.
receive() {
  IFS= read -r key || fail 64 'the session ends in its key'
  mkdir "$1/argv" "$1/secret/env" && printf '%s' "$key" >"$1/secret/key" || fail 74 "the key cannot be written"
  args=0
  while :; do
    IFS= read -r line || fail 64 'the session ends without a prompt'
    word=${line%% *} value=${line#* }
    case $word in
    prompt) break ;;
    key_name) is_variable "$value" || fail 64 'key_name is no name of a variable' ;;
    bundle)
      # One that stands on others comes after them.
      is_digest "$value" || fail 64 'bundle is no digest'
      [ -f "$objects/$value" ] || fail 65 "bundle $value is not stored here"
      printf '%s\n' "$value" >>"$1/bundle" || fail 74 "the session cannot be written below $root"
      continue
      ;;
    extra) is_digest "$value" || fail 64 'extra is no digest' ;;
    base) is_commit "$value" || fail 64 'base is no commit' ;;
    branch) git check-ref-format --branch "$value" >/dev/null 2>&1 || fail 64 'branch is no name of a branch' ;;
    timeout) is_number "$value" && [ "$value" -gt 0 ] || fail 64 'timeout is no number of seconds' ;;
    arg)
      take "$value" "$1/argv/$(printf '%04d' "$args")"
      args=$((args + 1))
      [ "$args" -lt 10000 ] || fail 64 'there are too many arguments'
      continue
      ;;
    env)
      is_variable "${value#* }" || fail 64 'env has no name of a variable'
      take "${value%% *}" "$1/secret/env/${value#* }"
      continue
      ;;
    *) fail 64 "a session has no '$word'" ;;
    esac
    printf '%s\n' "$value" >"$1/$word" || fail 74 "the session cannot be written below $root"
  done
  cat >"$1/prompt" && : >"$1/log" && : >"$1/setup.log" || fail 74 "the prompt cannot be written below $root"
  for word in bundle base branch argv/0000; do
    [ -s "$1/$word" ] || fail 64 "the session has no $word"
  done
  get "$1/argv/0000"
  case $line in -*) fail 64 'the program begins with a dash' ;; esac
  if get "$1/extra"; then [ -f "$objects/$line" ] || fail 65 "extra $line is not stored here"; fi
}
# stage KIND: a private directory for a session that is received, in $staged. Secrets go to memory, but where another machine is to
# read them.
stage() {
  incoming=$root/incoming
  mkdir -p "$incoming" || fail 74 "$incoming cannot be made"
  # What others left that were killed while they received.
  for old in "$incoming"/*; do
    [ -d "$old" ] || continue
    owner=${old##*/}
    case $owner in "$host".*) owner=${owner#"$host".} owner=${owner%%.*} ;; *) continue ;; esac
    [ -d "/proc/$owner" ] && continue
    # What it had begun may go on without it.
    if [ -e "$old/.held" ]; then (flock -n 8) 8>>"$old/.held" || continue; fi
    drop_secret "$old"
    rm -rf "$old"
  done
  staged=$(mktemp -d "$incoming/$host.$$.XXXXXX") || fail 74 "$incoming is not writable"
  { exec 8>"$staged/.held"; } 2>/dev/null && flock 8 || fail 74 "$staged is not writable"
  trap 'drop_secret "$staged"; rm -rf "$staged"' EXIT
  trap 'exit 129' HUP
  trap 'exit 143' TERM INT PIPE
  if [ "$1" = memory ] && memory=$(mktemp -d /dev/shm/amplihack-XXXXXXXXXXXX 2>/dev/null); then
    ln -s "$memory" "$staged/secret" || { rm -rf "$memory" && fail 74 "$staged is not writable"; }
  else
    mkdir "$staged/secret" || fail 74 "$staged is not writable"
  fi
}
# install_session ID: what is staged becomes the session's, unless it was started. Under the session's lock.
install_session() {
  d=$sessions/$1
  for word in argv bundle extra base branch timeout key_name prompt log setup.log ready; do rm -rf "${d:?}/$word"; done
  drop_secret "$d"
  mv "$staged"/* "$d/" && put_file "$d" state waiting && : >"$d/ready" && return 0
  drop_secret "$d"
  rm -rf "$d"
  fail 74 "the session cannot be written below $sessions"
}
# Under the session's lock: 0 it was started by this, 3 already, else what failed.
launch() {
  d=$sessions/$1
  [ -e "$d/exit" ] || [ -e "$d/killed" ] || [ -e "$d/started" ] || [ -e "$d/job" ] || lives "$d/pid" && return 3
  if [ -e "$d/pid" ]; then
    # A runner died, and what it had begun may not have: it must not come to the program beside the next.
    end_members "$1" 2
    [ -e "$d/started" ] && return 3
    rm -f "$d/pid" "$d/group"
  fi
  install_session "$1"
  [ "$2" = prepare ] && return 0
  # No descriptor of this connection stays with it, but the lock: that is the runner's too until it has said who it is, also if this
  # process is killed here.
  setsid sh "$self" run "$1" "$umask_before" </dev/null >/dev/null 2>"$d/runner.log" &
  run=$! waited=0
  until [ -e "$d/pid" ] || [ "$waited" -ge 200 ]; do
    start_of "$run" || [ "$waited" -lt 5 ] || break
    sleep 0.05 2>/dev/null || sleep 1
    waited=$((waited + 1))
  done
  [ -e "$d/pid" ] && return 0
  get "$d/runner.log"
  drop_secret "$d"
  fail 74 "the session's runner does not start: $line"
}
# begin ID start|prepare
begin() {
  need_id "${1-}"
  for word in flock setsid git tar gzip sha256sum; do
    command -v "$word" >/dev/null || fail 127 "$word is missing"
  done
  if [ "$2" = start ]; then stage memory; else stage home; fi
  receive "$staged"
  mkdir -p "$sessions" || fail 74 "$sessions cannot be made"
  tries=0 code=75
  # Whoever had the lock before may have undone the claim.
  while [ "$code" -eq 75 ] && [ "$tries" -lt 20 ]; do
    made='' tries=$((tries + 1))
    mkdir "$sessions/$1" 2>/dev/null && made=yes
    with_lock "$sessions/$1" launch "$1" "$2"
    code=$?
    # What was ended meanwhile stays so.
    case $code in 0 | 3) break ;; esac
    if [ -n "$made" ] && ! [ -e "$sessions/$1/ready" ]; then rm -rf "${sessions:?}/$1"; fi
  done
  case $code in
  0) if [ "$2" = start ]; then echo started; else echo prepared; fi ;;
  3) echo already ;;
  *) fail "$code" "$sessions/$1 cannot be made, or not be written" ;;
  esac
}

