# ---------------------------------------------------------------- how sessions stand

# In $jobs what the scheduler says of this user's jobs, `|ARRAY_TASK STATE|…`, asked once a call; `?` if it does not answer.
ask_scheduler() {
  [ -n "${jobs-}" ] && return
  if jobs=$(timeout 15 squeue -h -r -t all -o '%i %T' -u "$(id -un)" 2>/dev/null </dev/null); then
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
    if ! get "$1/exit"; then
      # What a scheduler had and has no more never begins.
      { [ "$began" = - ] && { ! [ -e "$1/job" ] || ! job_of "$1" || [ -z "$job" ]; }; } || state=lost
      return 0
    fi
  fi
  exit=${line%% *} over=${line##* } state=ended
  [ -e "$1/killed" ] && state=killed
  return 0
}
observe() {
  # Who asks may be the first after a client that was killed.
  sweep
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

