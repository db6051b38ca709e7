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
  need_id "${1-}"
  is_number "${2-}" || fail 64 'end needs a number of seconds'
  id=$1 grace=$2 d=$sessions/$1 survivors=0
  # What is not here yet may be on its way: it must find that it was ended. A start that failed may take the directory away meanwhile.
  for code in again last; do
    mkdir -p "$d" && with_lock "$d" mark_killed "$d" && break
    [ "$code" = again ] || fail 74 "it cannot be written down that $id is ended"
  done
  here=yes
  if [ -e "$d/job" ] && ! [ -e "$d/exit" ]; then
    # The runner is another machine's.
    lives "$d/pid" || here=''
    job_of "$d"
    [ -z "$job" ] || timeout 15 scancel "$job" >/dev/null 2>&1 </dev/null
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
  for gone in "$root/gone/$1".*; do drop_tree "$gone" "$1" || fail 74 "the work tree of $1 cannot be removed"; done
  clear_away "$root/gone/$1".* || fail 74 "$root/gone/$1.$$ cannot be removed"
  echo removed
}

