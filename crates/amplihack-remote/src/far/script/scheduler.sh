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
  known=$(timeout 15 squeue -h -n "$name" -u "$(id -un)" -o %F </dev/null) || fail 75 'the scheduler does not answer'
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
    --error=/dev/null --input=/dev/null --chdir="$root" "$self" task "$name" "$root" "$self" </dev/null 8>&- 9>&-) ||
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

