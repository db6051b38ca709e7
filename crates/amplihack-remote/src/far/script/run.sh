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
  exec 8>&- 9>&-
  get timeout && limit=$line
  default=''
  # A shell starts what runs beside it with these two ignored; the program must not be.
  env --default-signal=INT,QUIT true 2>/dev/null && default='env --default-signal=INT,QUIT'
  # shellcheck disable=SC2086 # words
  setsid $default sh "$self" program "$1" "$2" "$own" </dev/null >>log 2>&1 &
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
  until finish "$d" "${code:-$ended}" 2>/dev/null || ! [ -d "$d" ]; do sleep 1; done
}
# tree ID: makes the session's work tree, outside of the state: the guard lets no agent write there. The link `repo` leads to it.
tree() (
  d=$sessions/$1
  # What git-lfs would fetch is nowhere: its pointers are what was sent.
  export GIT_LFS_SKIP_SMUDGE=1
  drop_tree "$d" "$1" && clear_away "${trees:?}/$1" && (umask 077 && mkdir -p "$trees/$1") &&
    ln -s "$d/prompt" "$trees/$1/prompt" && ln -s "$trees/$1/repo" "$d/repo" && git init -q "$trees/$1/repo" &&
    cd -P "$trees/$1/repo" || exit 1
  while IFS= read -r bundle; do
    git bundle unbundle "$objects/$bundle" >"$d/refs" </dev/null || exit 1
    while read -r commit ref; do
      case $ref in
      refs/heads/*) git update-ref "refs/remotes/origin/${ref#refs/heads/}" "$commit" || exit 1 ;;
      refs/tags/*) git update-ref "$ref" "$commit" || exit 1 ;;
      esac
    done <"$d/refs"
  done <"$d/bundle"
  get "$d/base" && base=$line && get "$d/branch" && git checkout -q -B "$line" "$base" -- </dev/null || exit 1
  if get "$d/extra"; then
    # First what is to go: a file may become a directory.
    if tar -xzof "$objects/$line" .git/amplihack-removed 2>/dev/null; then
      xargs -0 rm -rf -- <.git/amplihack-removed && rm -f .git/amplihack-removed || exit 1
    fi
    tar -xzof "$objects/$line" || exit 1
    rm -f .git/amplihack-removed
  fi
  git config user.name >/dev/null || git config user.name amplihack || exit 1
  git config user.email >/dev/null || git config user.email amplihack@localhost || exit 1
  # What results are counted from, beside the base.
  git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags >"$d/refs"
)
# program ID UMASK RUNNER: makes the work tree and becomes the program. What runs in here is the session's process group.
program() {
  cd "$sessions/$1" || exit 125
  umask "$2"
  # Whose runner is gone does not go on: the session may have another by now.
  get pid && [ "$line" = "$3" ] && own=$(me) && (umask 077 && put_file . group "$own") || exit 125
  [ -e killed ] && exit 143
  amplihack_id=$1 amplihack_mark=$sessions/$1 amplihack_runner=$3 amplihack_envs=0 amplihack_key_name='' amplihack_node=''
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
  if ! tree "$1" >>setup.log 2>&1; then
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
  get pid && [ "$line" = "$amplihack_runner" ] && lives pid || exit 125
  (umask 077 && put_file . started "$(now)" && put_file . state running) || exit 125
  # `end` marks first and looks then; this is the other way round.
  [ -e killed ] && exit 143
  # By its own name, not by the link's: that one lies in the state.
  cd -P repo || exit 125
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

