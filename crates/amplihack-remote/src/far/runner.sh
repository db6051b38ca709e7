#!/bin/sh
# The far side of remote sessions, see docs/remote/protocol.md. POSIX sh with coreutils, grep, git, tar, gzip, and util-linux' or
# busybox' setsid and flock. Nothing that a user wrote is ever part of a command here: it comes by stdin and lies in files.
set -u
umask_before=$(umask)
umask 077
nl='
'
IFS=" 	$nl"
case $0 in /*) self=$0 ;; *) self=$(pwd)/$0 ;; esac

# Exit codes: 64 what was asked is not understood, 65 other bytes than announced, 66 no such session, 74 something could not be
# written, 75 not now.
fail() { code=$1 && shift && printf 'amplihack-runner: %s\n' "$*" >&2 && exit "$code"; }

# ---------------------------------------------------------------- what words may look like

is_number() { case $1 in '' | *[!0123456789]*) return 1 ;; esac && [ ${#1} -le 15 ]; }
is_hex() { case $1 in '' | *[!0123456789abcdef]*) return 1 ;; esac; }
is_digest() { is_hex "$1" && [ ${#1} -eq 64 ]; }
is_commit() { is_hex "$1" && { [ ${#1} -eq 40 ] || [ ${#1} -eq 64 ]; }; }
is_name() {
  case $1 in '' | [-.]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-]*) return 1 ;; esac
  [ ${#1} -le 64 ]
}
is_variable() {
  case $1 in '' | [0123456789]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_]*) return 1 ;; esac
}
D=[0123456789] X=[0123456789abcdef]
is_id() { case $1 in sess-$D$D$D$D$D$D$D$D-$D$D$D$D$D$D-$X$X$X$X) ;; *) return 1 ;; esac; }
need_id() { is_id "${1-}" || fail 64 "this is no session's id"; }
need_session() { need_id "${1-}" && { [ -d "$sessions/$1" ] || fail 66 "there is no session $1"; }; }

# ---------------------------------------------------------------- files

# put_file DIR NAME TEXT: the line TEXT in DIR/NAME, whole or not at all.
put_file() {
  if printf '%s\n' "$3" >"$1/.$2.$$" && mv -f "$1/.$2.$$" "$1/$2"; then return 0; fi
  rm -f "$1/.$2.$$"
  return 1
}
# get FILE: its first line in $line; false if there is none.
get() { line='' && { IFS= read -r line <"$1"; } 2>/dev/null; }
# Removes a directory, also one that holds directories which are not writable.
clear_away() { rm -rf -- "$@" 2>/dev/null || { chmod -R u+rwx -- "$@" 2>/dev/null; rm -rf -- "$@"; }; }
# Removes the secrets of the session directory $1, wherever they are.
drop_secret() {
  if [ -h "$1/secret" ]; then
    place=$(readlink "$1/secret")
    case $place in /dev/shm/amplihack-*) rm -rf -- "$place" ;; esac
    rm -f "$1/secret"
  else
    rm -rf "$1/secret"
  fi
}
# with_lock DIR COMMAND…: runs the function while this process alone holds DIR's lock. 75: DIR is gone.
# The lock ends with its holder, however that ends.
with_lock() {
  locked=$1 && shift
  (
    flock 9 || fail 75 "the lock of $locked cannot be had"
    [ "$locked/lock" -ef /dev/fd/9 ] || exit 75
    "$@"
  ) 9>>"$locked/lock"
  code=$?
  # So a shell says that it could not open the lock: the directory is gone.
  case $code in 1 | 2) [ -d "$locked" ] || code=75 ;; esac
  return "$code"
}

# ---------------------------------------------------------------- processes

get /proc/sys/kernel/random/boot_id || line=unknown
boot=$line
get /proc/sys/kernel/hostname || line=$(uname -n)
host=$line

# start_of PID: in $started_at when the process started, in ticks since the boot; false if it is gone or a zombie.
start_of() {
  started_at='' && get "/proc/$1/stat" || return 1
  # shellcheck disable=SC2086 # fields without blanks
  set -- ${line##*) }
  [ "$1" != Z ] && [ "$1" != X ] && started_at=${20-}
}
# lives FILE: whether the process lives that FILE tells of: `PID GROUP START BOOT HOST`.
lives() {
  get "$1" || return 1
  # shellcheck disable=SC2086 # five words
  set -- $line
  [ $# -eq 5 ] && [ "$5" = "$host" ] && [ "$4" = "$boot" ] && was=$3 && start_of "$1" && [ "$started_at" = "$was" ]
}
me() { start_of "$$" && printf '%s %s %s %s %s' "$$" "$$" "$started_at" "$boot" "$host"; }
now() { date +%s; }
nap() { sleep 0.1 2>/dev/null || sleep 1; }

# group_of FILE: in $group the process group that FILE tells of, unless its number is somebody else's by now.
group_of() {
  get "$1" || return 1
  # shellcheck disable=SC2086 # five words
  set -- $line
  [ $# -eq 5 ] && [ "$5" = "$host" ] && [ "$4" = "$boot" ] && group=$2 && was=$3 || return 1
  ! start_of "$group" || [ "$started_at" = "$was" ]
}
# members ID: in $found the processes of a session that are not dead: those in the program's group or session, those that carry the
# session's mark, which is its directory, and all below them; never this one, nor the session's runner.
members() {
  d=$sessions/$1 found=' ' runner='' groups=' '
  if lives "$d/pid"; then runner=${line%% *}; elif group_of "$d/pid"; then groups=" $group "; fi
  group_of "$d/group" && groups="$groups$group "
  marked=" $(grep -lsF "AMPLIHACK_REMOTE_SESSION=$sessions/$1" /proc/[0123456789]*/environ | tr '\n' ' ')"
  rows='' part=''
  table=$(cat /proc/[0123456789]*/stat 2>/dev/null)
  IFS=$nl
  for line in $table; do
    # A process may have line breaks in its name.
    part=$part$line
    case $part in
    *') '[RSDTtWIPKxZX]' '*) ;;
    *) continue ;;
    esac
    IFS=' '
    pid=${part%% *} rest=${part##*) } part=''
    # shellcheck disable=SC2086 # fields without blanks
    set -- $rest
    IFS=$nl
    case $1 in Z | X) continue ;; esac
    [ "$pid" = "$$" ] || [ "$pid" = "$runner" ] && continue
    rows="$rows$pid $2$nl"
    case $groups in *" $3 "* | *" $4 "*) found="$found$pid " && continue ;; esac
    case $marked in *" /proc/$pid/environ "*) found="$found$pid " ;; esac
  done
  grown=yes
  while [ -n "$grown" ] && [ "$found" != ' ' ]; do
    grown=''
    for line in $rows; do
      case $found in
      *" ${line%% *} "*) ;;
      *" ${line##* } "*) found="$found${line%% *} " grown=yes ;;
      esac
    done
  done
  IFS=" 	$nl"
  found=${found# }
}
# end_members ID GRACE: SIGTERM, and after GRACE seconds SIGKILL, to all of them; in $survivors how many are left.
end_members() {
  begun=$(now) told=' '
  while members "$1" && [ -n "$found" ]; do
    passed=$(($(now) - begun))
    [ "$passed" -gt $(($2 + 5)) ] && break
    for pid in $found; do
      # Seconds are counted from their beginnings, so that one more is waited.
      if [ "$passed" -gt "$2" ] || { [ "$2" -eq 0 ] && case $told in *" $pid "*) ;; *) false ;; esac; }; then
        kill -s KILL "$pid" 2>/dev/null
      else
        case $told in
        *" $pid "*) ;;
        *) told="$told$pid " && kill -s TERM "$pid" 2>/dev/null && kill -s CONT "$pid" 2>/dev/null ;;
        esac
      fi
    done
    nap
  done
  survivors=0
  for pid in $found; do survivors=$((survivors + 1)); done
}

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
    bundle | extra) is_digest "$value" || fail 64 "$word is no digest" ;;
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
  for word in bundle extra; do
    get "$1/$word" || continue
    [ -f "$objects/$line" ] || fail 65 "$word $line is not stored here"
  done
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
    drop_secret "$old"
    rm -rf "$old"
  done
  staged=$(mktemp -d "$incoming/$host.$$.XXXXXX") || fail 74 "$incoming is not writable"
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
  install_session "$1"
  [ "$2" = prepare ] && return 0
  rm -f "$d/pid" "$d/group"
  # No descriptor of this connection stays with it.
  setsid sh "$self" run "$1" "$umask_before" </dev/null >/dev/null 2>"$d/runner.log" 9>&- &
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
    if [ "$code" -ne 0 ] && [ -n "$made" ] && ! [ -e "$sessions/$1/ready" ]; then rm -rf "${sessions:?}/$1"; fi
  done
  case $code in
  0) if [ "$2" = start ]; then echo started; else echo prepared; fi ;;
  3) echo already ;;
  *) fail "$code" "$sessions/$1 cannot be made, or not be written" ;;
  esac
}

# ---------------------------------------------------------------- a session runs

# finish DIR CODE: the session's end is written down, once: the first that writes it has said it.
finish() {
  if ! [ -e "$1/exit" ]; then
    printf '%s %s\n' "$2" "$(now)" >"$1/.exit.$$" || { rm -f "$1/.exit.$$" && return 1; }
    # Links are made only where there is nothing yet; some file systems have none.
    ln "$1/.exit.$$" "$1/exit" 2>/dev/null || [ -e "$1/exit" ] || mv "$1/.exit.$$" "$1/exit" || return 1
    rm -f "$1/.exit.$$"
  fi
  drop_secret "$1"
  put_file "$1" state ended
}
# run ID UMASK: the session's runner. It outlives the program, and writes down how that ended.
run() {
  d=$sessions/$1 signal='' limit=''
  trap 'signal=term' TERM
  trap 'signal=time' USR1
  trap : HUP INT QUIT
  cd "$d" || exit 74
  own=$(me) && put_file "$d" pid "$own" || exit 74
  get timeout && limit=$line
  default=''
  # A shell starts what runs beside it with these two ignored; the program must not be.
  env --default-signal=INT,QUIT true 2>/dev/null && default='env --default-signal=INT,QUIT'
  # shellcheck disable=SC2086 # words
  setsid $default sh "$self" program "$1" "$2" </dev/null >>log 2>&1 &
  program=$! timer='' code=''
  if [ -n "$limit" ]; then
    (
      trap 'kill "$sleeper" 2>/dev/null; exit' TERM
      sleep "$limit" &
      sleeper=$!
      wait "$sleeper" && lives "$d/pid" && kill -s USR1 "$$"
    ) &
    timer=$!
  fi
  while :; do
    wait "$program"
    ended=$?
    case $signal in
    '') break ;;
    time) code=124 && printf '\namplihack: the session took its %s seconds, and was ended\n' "$limit" >>log ;;
    term) code=143 && printf '\namplihack: the runner got SIGTERM, and ended the session\n' >>log ;;
    esac
    signal=''
    end_members "$1" 10
  done
  [ -z "$timer" ] || kill -s TERM "$timer" 2>/dev/null
  end_members "$1" 5
  # Without room on the disk the end is written as soon as there is some.
  until finish "$d" "${code:-$ended}" 2>/dev/null; do sleep 1; done
}
# tree ID: makes the session's work tree.
tree() (
  clear_away repo && git init -q repo && cd repo || exit 1
  while IFS= read -r bundle; do
    git bundle unbundle "$objects/$bundle" >../refs </dev/null || exit 1
    while read -r commit ref; do
      case $ref in
      refs/heads/*) git update-ref "refs/remotes/origin/${ref#refs/heads/}" "$commit" || exit 1 ;;
      refs/tags/*) git update-ref "$ref" "$commit" || exit 1 ;;
      esac
    done <../refs
  done <../bundle
  get ../base && base=$line && get ../branch && git checkout -q -B "$line" "$base" -- </dev/null || exit 1
  if get ../extra; then tar -xzof "$objects/$line" || exit 1; fi
  git config user.name >/dev/null || git config user.name amplihack || exit 1
  git config user.email >/dev/null || git config user.email amplihack@localhost || exit 1
  # What results are counted from, beside the base.
  git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags >../refs
)
# program ID UMASK: makes the work tree and becomes the program. What runs in here is the session's process group.
program() {
  cd "$sessions/$1" || exit 125
  umask "$2"
  own=$(me) && (umask 077 && put_file . group "$own") || exit 125
  [ -e killed ] && exit 143
  amplihack_id=$1 amplihack_mark=$sessions/$1 amplihack_envs=0 amplihack_key_name='' amplihack_node=''
  # Values are read with an end that is cut off again: a substitution would take their last line breaks.
  amplihack_key=$(cat secret/key && printf x) || exit 125
  amplihack_key=${amplihack_key%x}
  for file in secret/env/*; do
    [ -f "$file" ] || continue
    value=$(cat "$file" && printf x) || exit 125
    amplihack_envs=$((amplihack_envs + 1))
    eval "amplihack_name_$amplihack_envs=\${file##*/} amplihack_value_$amplihack_envs=\${value%x}"
    [ "$file" = secret/env/NODE_OPTIONS ] && amplihack_node=given
  done
  drop_secret .
  unset value
  if ! tree >>setup.log 2>&1; then
    echo 'amplihack: the work tree could not be made:'
    tail -n 5 setup.log
    exit 125
  fi
  get key_name && amplihack_key_name=$line
  set --
  for file in argv/*; do
    line=$(cat "$file" && printf x) || exit 125
    set -- "$@" "${line%x}"
  done
  (umask 077 && put_file . started "$(now)" && put_file . state running) || exit 125
  # `end` marks first and looks then; this is the other way round.
  [ -e killed ] && exit 143
  cd repo || exit 125
  # From here on nothing is written down any more, and no name of ours may be one of the session's variables.
  [ -n "$amplihack_node" ] || export NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--max-old-space-size=32768"
  while [ "$amplihack_envs" -gt 0 ]; do
    eval "export \"\$amplihack_name_$amplihack_envs=\$amplihack_value_$amplihack_envs\""
    amplihack_envs=$((amplihack_envs - 1))
  done
  [ -z "$amplihack_key_name" ] || [ -z "$amplihack_key" ] || export "$amplihack_key_name=$amplihack_key"
  export AMPLIHACK_SESSION_ID="$amplihack_id" AMPLIHACK_REMOTE_SESSION="$amplihack_mark"
  exec "$@"
}

# ---------------------------------------------------------------- how sessions stand

# In $jobs what the scheduler says of this user's jobs, `|ARRAY_TASK STATE|…`, asked once a call; `?` if it does not answer.
ask_scheduler() {
  [ -n "${jobs-}" ] && return
  if jobs=$(squeue -h -r -t all -o '%i %T' -u "$(id -un)" 2>/dev/null </dev/null); then
    jobs="|$(printf '%s' "$jobs" | tr '\n' '|')|"
  else
    jobs='?'
  fi
}
# job_of DIR: in $job the number of the session's task, `JOB_INDEX`, empty if it has none.
job_of() {
  job='' && get "$1/job" || return 0
  name=${line%% *} index=${line##* }
  # The last that was submitted holds it.
  { while read -r number indexes; do case ",$indexes," in *",$index,"*) job=${number}_$index ;; esac; done; } \
    2>/dev/null <"$root/jobs/$name/job"
}
# job_lives DIR: whether a scheduler has the session yet, or may have it.
job_lives() {
  job_of "$1"
  [ -n "$job" ] || return 1
  ask_scheduler
  case $jobs in
  '?') return 0 ;;
  *"|$job PENDING|"* | *"|$job RUNNING|"* | *"|$job CONFIGURING|"* | *"|$job COMPLETING|"* | *"|$job SUSPENDED|"* | \
    *"|$job REQUEUED|"* | *"|$job RESIZING|"* | *"|$job SIGNALING|"* | *"|$job STAGE_OUT|"* | *"|$job STOPPED|"*) return 0 ;;
  esac
  return 1
}
# stands DIR: in $state, $exit, $began and $over how a session stands.
stands() {
  state=waiting exit=- began=- over=-
  get "$1/started" && began=$line
  if ! get "$1/exit"; then
    [ -e "$1/ready" ] || return 0
    if lives "$1/pid" || { [ -e "$1/job" ] && job_lives "$1"; }; then
      [ "$began" = - ] || state=running
      return 0
    fi
    # It may have ended between these looks. Another machine's files are seen when their directory was read.
    for line in "$1"/*; do break; done
    get "$1/started" && began=$line
    get "$1/exit" || { [ "$began" = - ] || state=lost; return 0; }
  fi
  exit=${line%% *} over=${line##* } state=ended
  [ -e "$1/killed" ] && state=killed
  return 0
}
observe() {
  mkdir -p "$sessions" && cd "$sessions" || fail 74 "$sessions cannot be made"
  for id in "$@"; do is_id "$id" || fail 64 "'$id' is no session's id"; done
  [ $# -gt 0 ] || { set -- sess-* && { [ -d "$1" ] || return 0; }; }
  count=$#
  while [ "$count" -gt 0 ]; do
    id=$1 && shift && count=$((count - 1))
    is_id "$id" || continue
    if [ -f "$id/log" ]; then
      set -- "$@" "$id/log"
    elif [ -d "$id" ]; then
      stands "$id"
      echo "$id $state $exit $began $over 0"
    else
      echo "$id absent - - - 0"
    fi
  done
  [ $# -gt 0 ] || return 0
  # One program for all sizes; what is removed meanwhile is missing, as it should.
  stat -c '%s %n' -- "$@" 2>/dev/null | while read -r size file; do
    stands "${file%/log}"
    echo "${file%/log} $state $exit $began $over $size"
  done
}
# bytes FILE FROM [MOST]
bytes() {
  [ -f "$1" ] || return 0
  if [ -n "${3-}" ]; then tail -c +"$(($2 + 1))" -- "$1" | head -c "$3"; else tail -c +"$(($2 + 1))" -- "$1"; fi
}
read_log() {
  need_session "${1-}"
  is_number "${2-}" && is_number "${3-0}" && is_number "${4-0}" || fail 64 'read needs an offset, and may have a time and a length'
  d=$sessions/$1 until=$(($(now) + ${3-0}))
  while [ "${3-0}" -gt 0 ] && [ "$(wc -c <"$d/log" 2>/dev/null || echo 0)" -le "$2" ] && [ "$(now)" -lt "$until" ]; do
    stands "$d"
    case $state in ended | killed | lost) break ;; esac
    nap
  done
  bytes "$d/log" "$2" "${4-}"
}

# ---------------------------------------------------------------- a session is ended, collected, removed

mark_killed() { [ -e "$1/exit" ] || : >"$1/killed"; }
# Under the lock: nobody starts the session meanwhile. 3: its runner lives, and writes its end.
finish_dead() {
  [ -e "$1/exit" ] && return 0
  lives "$1/pid" && return 3
  : >"$1/killed" || return 1
  if [ -e "$1/started" ]; then finish "$1" 137; else finish "$1" 143; fi
}
end() {
  need_session "${1-}"
  is_number "${2-}" || fail 64 'end needs a number of seconds'
  id=$1 grace=$2 d=$sessions/$1 survivors=0
  with_lock "$d" mark_killed "$d" || fail 74 "it cannot be written down that $id is ended"
  here=yes
  if [ -e "$d/job" ] && ! [ -e "$d/exit" ]; then
    # The runner is another machine's.
    lives "$d/pid" || here=''
    job_of "$d"
    [ -z "$job" ] || scancel "$job" >/dev/null 2>&1 </dev/null
  fi
  [ -z "$here" ] || end_members "$id" "$grace"
  waited=0
  while ! [ -e "$d/exit" ]; do
    # A scheduler is not asked ten times a second.
    [ -n "$here" ] || { sleep 1 && waited=$((waited + 9)) && jobs=''; }
    if [ -n "$here" ] || ! job_lives "$d"; then
      with_lock "$d" finish_dead "$d"
      code=$?
      [ "$code" -eq 0 ] && break
      [ "$code" -eq 3 ] || fail 74 "the end of $id cannot be written down"
    fi
    [ "$waited" -lt $(((grace + 15) * 10)) ] || { survivors=$((survivors + 1)) && break; }
    nap
    waited=$((waited + 1))
    for file in "$d"/*; do break; done
  done
  # What was started while the rest was ended.
  [ -z "$here" ] || end_members "$id" 1
  echo "ended $survivors"
}

# Works on a repository of its own that borrows the session's objects, so that nothing of the session changes.
collect_locked() {
  cd "$1" || return 74
  [ -e repo/.git ] || { echo 'results 0 - -' && return 0; }
  work=$1/collect.git real=$(git -C repo rev-parse --absolute-git-dir) || return 74
  common=$(git -C repo rev-parse --git-common-dir) || return 74
  case $common in /*) ;; *) common=$1/repo/$common ;; esac
  rm -rf collect.git collect.index* results.new && git init -q --bare collect.git || return 74
  printf '%s\n' "$common/objects" >collect.git/objects/info/alternates || return 74
  heads="$(git -C repo for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags)" || return 74
  printf '%s\n' "$heads" >collect.refs || return 74
  # The state of the work tree as a commit, over a copy of the index.
  tip=$(git -C repo rev-parse -q --verify 'HEAD^{commit}') || tip=''
  [ ! -f "$real/index" ] || cp "$real/index" collect.index || return 74
  : >collect.log || return 74
  export GIT_OPTIONAL_LOCKS=0 GIT_OBJECT_DIRECTORY="$work/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$common/objects"
  export GIT_INDEX_FILE="$1/collect.index"
  if ! git -C repo add -A 2>collect.log; then
    # While the session runs files come and go.
    sleep 1
    git -C repo add -A --ignore-errors 2>collect.log
    grep -q 'index file corrupt\|unable to write\|No space left' collect.log && return 74
  fi
  tree=$(git -C repo write-tree) || return 74
  old=$(if [ -n "$tip" ]; then git -C repo rev-parse "$tip^{tree}"; else git -C repo hash-object -t tree /dev/null; fi)
  unset GIT_INDEX_FILE
  wip=''
  if [ "$tree" != "$old" ]; then
    wip=$(echo "work in progress of $id" | GIT_AUTHOR_NAME=amplihack GIT_AUTHOR_EMAIL=amplihack@localhost \
      GIT_COMMITTER_NAME=amplihack GIT_COMMITTER_EMAIL=amplihack@localhost \
      git -C repo commit-tree "$tree" ${tip:+-p "$tip"}) || return 74
  elif [ -n "$tip" ] && ! git -C repo symbolic-ref -q HEAD >/dev/null &&
    [ -z "$(git -C repo for-each-ref --contains "$tip" refs/heads)" ]; then
    # Commits that are on no branch.
    wip=$tip
  fi
  unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
  get base && base=$line || return 74
  while read -r commit ref; do
    [ -z "$commit" ] || grep -qsxF "$commit $ref" refs || git -C collect.git update-ref "$ref" "$commit" || return 74
  done <collect.refs
  branch=''
  if [ -n "$wip" ]; then
    # Where a branch `wip` is there is no room below it.
    for branch in "wip/$id" "wip-$id"; do git -C collect.git update-ref "refs/heads/$branch" "$wip" 2>/dev/null && break; done
    git -C collect.git rev-parse -q --verify "refs/heads/$branch" >/dev/null || return 74
  fi
  stash=$(git -C repo rev-parse -q --verify refs/stash) && git -C collect.git update-ref "refs/heads/stash-$id" "$stash"
  beyond=$(git -C collect.git rev-list --count --all --not "$base") || return 74
  if [ "$beyond" -eq 0 ]; then
    rm -f results.bundle && echo 'results 0 - -'
  else
    git -C collect.git bundle create "$1/results.new" --all --not "$base" 2>results.log || return 74
    git -C collect.git bundle verify "$1/results.new" >>results.log 2>&1 || return 74
    mv -f results.new results.bundle || return 74
    digest=$(sha256sum <results.bundle) || return 74
    echo "results $(wc -c <results.bundle) ${digest%% *} ${branch:--}"
  fi
  while IFS= read -r line; do case $line in hint:* | '') ;; *) printf 'warning %s\n' "$line" ;; esac; done <collect.log
  rm -rf collect.git collect.index collect.refs
}
collect() {
  need_session "${1-}"
  id=$1
  export GIT_TERMINAL_PROMPT=0
  mkdir -p "$sessions/$1/collect" || fail 74 "$sessions/$1 is not writable"
  with_lock "$sessions/$1/collect" collect_locked "$sessions/$1" || fail $? "the results of $id cannot be gathered"
}
remove_locked() {
  d=$sessions/$1
  lives "$d/pid" || { [ -e "$d/job" ] && ! [ -e "$d/exit" ] && job_lives "$d"; } && fail 75 "$1 runs: end it first"
  drop_secret "$d"
  # At once out of sight, so that nobody sees a half.
  mkdir -p "$root/gone" && mv "$d" "$root/gone/$1.$$"
}
remove() {
  need_session "${1-}"
  with_lock "$sessions/$1" remove_locked "$1" || exit $?
  clear_away "$root/gone/$1".* || fail 74 "$root/gone/$1.$$ cannot be removed"
  echo removed
}

# ---------------------------------------------------------------- objects, the machine

put() {
  is_digest "${1-}" || fail 64 'put needs a digest'
  mkdir -p "$objects" || fail 74 "$objects cannot be made"
  if ! [ -f "$objects/$1" ]; then
    new=$(mktemp "$objects/.new.XXXXXX") || fail 74 "$objects is not writable"
    trap 'rm -f "$new"' EXIT
    trap 'exit 143' HUP TERM INT PIPE
    cat >"$new" || fail 74 "there is no room in $objects"
    digest=$(sha256sum <"$new") && digest=${digest%% *}
    [ "$digest" = "$1" ] || fail 65 "the bytes are those of $digest"
    mv -f "$new" "$objects/$1" || fail 74 "$objects is not writable"
  fi
  echo stored
}
has() {
  for digest in "$@"; do
    is_digest "$digest" || fail 64 "'$digest' is no digest"
    [ ! -f "$objects/$digest" ] || printf '%s\n' "$digest"
  done
}
probe() {
  mkdir -p "$root" || fail 74 "$root cannot be made"
  memory=0 free=0
  while read -r word value line; do [ "$word" = MemTotal: ] && memory=$((value / 1024)) && break; done </proc/meminfo
  { read -r line && read -r word word word value line && free=$((value / 1024)); } <<END
$(df -Pk "$root")
END
  printf 'protocol 1\nmachine %s\nboot %s\ncores %s\nmemory_mb %s\nfree_mb %s\n' \
    "$(uname -m)" "$boot" "$(nproc)" "$memory" "$free"
  printf 'home %s\n' "${HOME-}"
  for word in "$@"; do
    case $word in
    '' | -* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+/-]*) fail 64 'this is no program' ;;
    esac
    if command -v "$word" >/dev/null; then
      # Some programs say their version on the other output, some say nothing, and some wait for an answer.
      line=$(timeout 10 "$word" --version 2>&1 </dev/null | head -n 1)
      printf 'program %s %s\n' "$word" "$line"
    else
      printf 'missing %s\n' "$word"
    fi
  done
}

# ---------------------------------------------------------------- a scheduler's door

# submit NAME ID…: one array job for prepared sessions, once.
submit_locked() {
  jobdir=$root/jobs/$1 name=$1 && shift
  wanted=$(printf '%s\n' "$@")
  if [ -e "$jobdir/ids" ]; then
    [ "$(cat "$jobdir/ids")" = "$wanted" ] || fail 64 "$name was submitted with other sessions"
  else
    put_file "$jobdir" ids "$wanted" || fail 74 "$jobdir is not writable"
  fi
  known=$(squeue -h -n "$name" -u "$(id -un)" -o %A </dev/null) || fail 75 'the scheduler does not answer'
  known=${known%%"$nl"*}
  index=0 missing='' all=''
  for id in "$@"; do
    put_file "$sessions/$id" job "$name $index" || fail 74 "$sessions/$id is not writable"
    all="$all${all:+,}$index"
    [ -e "$sessions/$id/claim" ] || [ -e "$sessions/$id/exit" ] || missing="$missing${missing:+,}$index"
    index=$((index + 1))
  done
  if [ -n "$known" ]; then
    # It was submitted, and perhaps not written down any more.
    [ -e "$jobdir/job" ] || put_file "$jobdir" job "$known $all" || fail 74 "$jobdir is not writable"
    printf '%s\n' "$known" && return 0
  fi
  [ -n "$missing" ] || { get "$jobdir/job" || line=0; printf '%s\n' "${line%% *}" && return 0; }
  set --
  while IFS= read -r line; do
    case $line in
    '') continue ;;
    --wrap* | --export* | --array* | --job-name* | --comment* | -a* | -J*) fail 64 "the option $line is not the caller's" ;;
    -*) set -- "$@" "$line" ;;
    *) fail 64 "'$line' is no option" ;;
    esac
  done
  number=$(sbatch "$@" --parsable --export=NONE --no-requeue --job-name="$name" --array="$missing" --output=/dev/null \
    --error=/dev/null --input=/dev/null --chdir="$root" "$self" task "$name" "$root" "$self" </dev/null 9>&-) ||
    fail 75 'the scheduler refused the job'
  number=${number%%;*}
  is_number "$number" || fail 75 "the scheduler's answer is no number"
  { [ ! -f "$jobdir/job" ] || cat "$jobdir/job"; } >"$jobdir/.job" && printf '%s %s\n' "$number" "$missing" >>"$jobdir/.job" &&
    mv -f "$jobdir/.job" "$jobdir/job" || fail 74 "job $number runs, and $jobdir is not writable"
  printf '%s\n' "$number"
}
submit() {
  is_name "${1-}" && [ $# -gt 1 ] || fail 64 'submit needs a name and sessions'
  name=$1 && shift
  for id in "$@"; do
    need_session "$id"
    [ -e "$sessions/$id/ready" ] || fail 64 "$id is not prepared"
  done
  mkdir -p "$root/jobs/$name" || fail 74 "$root/jobs cannot be made"
  with_lock "$root/jobs/$name" submit_locked "$name" "$@" || exit $?
}
# task NAME: runs the session of this task of an array, in the foreground. The claim is a fence: what was begun once is never begun
# again, whoever puts the job back into the queue.
task() {
  is_name "${1-}" && is_number "${SLURM_ARRAY_TASK_ID-}" || fail 64 'this is no task of an array'
  index=0 id=''
  while IFS= read -r line; do
    [ "$index" -eq "$SLURM_ARRAY_TASK_ID" ] && id=$line
    index=$((index + 1))
  done <"$root/jobs/$1/ids"
  need_session "$id"
  d=$sessions/$id
  [ -e "$d/exit" ] && exit 0
  if [ -e "$d/killed" ]; then
    finish "$d" 143
    exit 0
  fi
  if mkdir "$d/claim" 2>/dev/null; then
    run "$id" "$umask_before"
    exit 0
  fi
  [ -d "$d/claim" ] || fail 74 "$d is not writable"
  # The first attempt may live on beside this one, and says its end itself.
  lives "$d/pid" && exit 0
  printf '\namplihack: the scheduler put the session back into its queue; it is not run twice\n' >>"$d/log"
  finish "$d" 75
  exit 75
}

# ---------------------------------------------------------------- verbs

verb=${1-} && [ $# -gt 0 ] && shift
# A task is a copy of this file in the scheduler's own place.
[ "$verb" = task ] && [ $# -eq 3 ] && export AMPLIHACK_REMOTE_ROOT="$2" && self=$3
root=${AMPLIHACK_REMOTE_ROOT:-${HOME:?}/.amplihack/remote}
case $root in /*) ;; *) fail 64 'AMPLIHACK_REMOTE_ROOT is not absolute' ;; esac
sessions=$root/sessions objects=$root/objects
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
