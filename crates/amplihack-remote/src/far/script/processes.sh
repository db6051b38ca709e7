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
  if lives "$d/pid"; then get "$d/pid" && runner=${line%% *}; elif group_of "$d/pid"; then groups=" $group "; fi
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

