# ---------------------------------------------------------------- results are gathered

# left_there TREE: what of the session's work is in no commit of its own repository, a line each. $1 is the tree of its state.
left_there() {
  # A repository inside of it is in its tree as the name of a commit, and nothing more.
  git -C collect.git ls-tree -r "$1" | while IFS= read -r line; do
    case $line in 160000*) ;; *) continue ;; esac
    path=${line#*"	"}
    [ -e "repo/$path/.git" ] || case $path in '"'*) ;; *) continue ;; esac
    if [ -n "$base" ] && git -C collect.git ls-tree -r "$base" | grep -qxF "$line"; then
      [ -n "$(git -C "repo/$path" status --porcelain 2>&1)" ] || continue
    fi
    printf 'left %s is a repository of its own, and its work stays in it\n' "$path"
  done
  own=$(cd -P repo && pwd)
  git -C repo worktree list --porcelain | while IFS= read -r line; do
    case $line in "worktree $own") continue ;; 'worktree '*) path=${line#worktree } ;; *) continue ;; esac
    # One whose directory is gone holds nothing.
    [ -e "$path/.git" ] || continue
    tip=$(git -C "$path" rev-parse -q --verify 'HEAD^{commit}') || tip=''
    if [ -n "$(git -C "$path" status --porcelain 2>&1)" ]; then
      printf 'left the work tree %s has changes that are not committed\n' "$path"
    elif [ -n "$tip" ] && [ -z "$(git -C repo for-each-ref --contains "$tip" refs/heads refs/tags)" ]; then
      printf 'left the work tree %s has commits that are on no branch\n' "$path"
    fi
  done
}
# Works on a repository of its own that borrows the session's objects, so that nothing of the session changes.
collect_locked() {
  cd "$1" || return 74
  # A work tree that could not be made is nobody's work.
  [ -e repo/.git ] && [ -e started ] || { echo 'results 0 - -' && return 0; }
  work=$1/collect.git real=$(git -C repo rev-parse --absolute-git-dir) || return 74
  common=$(git -C repo rev-parse --git-common-dir) || return 74
  case $common in /*) ;; *) common=$1/repo/$common ;; esac
  rm -rf collect.git collect.index* results.new && git init -q --bare collect.git || return 74
  printf '%s\n' "$common/objects" >collect.git/objects/info/alternates || return 74
  heads="$(git -C repo for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags)" || return 74
  printf '%s\n' "$heads" >collect.refs || return 74
  # The state of the work tree as a commit, over a copy of the index.
  tip=$(git -C repo rev-parse -q --verify 'HEAD^{commit}') || tip=''
  # With its time, by which git knows what may have changed since: a file can be written twice in one tick of the clock.
  [ ! -f "$real/index" ] || cp -p "$real/index" collect.index || return 74
  : >collect.log || return 74
  export GIT_OPTIONAL_LOCKS=0 GIT_OBJECT_DIRECTORY="$work/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$common/objects"
  export GIT_INDEX_FILE="$1/collect.index"
  # A file may be marked so that git does not look at it.
  git -C repo ls-files -z | git -C repo update-index -q -z --no-assume-unchanged --stdin
  [ "$(git -C repo config --bool core.sparseCheckout)" = true ] ||
    git -C repo ls-files -z | git -C repo update-index -q -z --no-skip-worktree --stdin
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
  # A history that was made anew may have lost it.
  git -C collect.git cat-file -e "$base^{commit}" 2>/dev/null || base=''
  while read -r commit ref; do
    [ -z "$commit" ] || grep -qsxF "$commit $ref" refs || git -C collect.git update-ref "$ref" "$commit" || return 74
  done <collect.refs
  branch=''
  if [ -n "$wip" ]; then
    # Where a branch `wip` is there is no room below it.
    for branch in "wip/$id" "wip-$id"; do git -C collect.git update-ref "refs/heads/$branch" "$wip" 2>/dev/null && break; done
    git -C collect.git rev-parse -q --verify "refs/heads/$branch" >/dev/null || return 74
  fi
  # The older ones are in its log only.
  stashes=$(git -C repo rev-list -g refs/stash -- 2>/dev/null) && [ -n "$stashes" ] ||
    stashes=$(git -C repo rev-parse -q --verify refs/stash) || stashes=''
  number=''
  for stash in $stashes; do
    git -C collect.git update-ref "refs/heads/stash-$id${number:+-$number}" "$stash" || return 74
    number=$((${number:-0} + 1))
  done
  beyond=$(git -C collect.git rev-list --count --all ${base:+--not "$base"}) || return 74
  if [ "$beyond" -eq 0 ]; then
    rm -f results.bundle && echo 'results 0 - -'
  else
    git -C collect.git bundle create "$1/results.new" --all ${base:+--not "$base"} 2>results.log || return 74
    git -C collect.git bundle verify "$1/results.new" >>results.log 2>&1 || return 74
    mv -f results.new results.bundle || return 74
    digest=$(sha256sum <results.bundle) || return 74
    echo "results $(wc -c <results.bundle) ${digest%% *} ${branch:--}"
  fi
  while IFS= read -r line; do
    case $line in
    hint:* | '' | 'warning: adding embedded git repository'*) ;;
    error:* | fatal:* | *'could not open directory'*) printf 'left %s\n' "$line" ;;
    *) printf 'warning %s\n' "$line" ;;
    esac
  done <collect.log
  left_there "$tree"
  rm -rf collect.git collect.index collect.refs
}
collect() {
  need_session "${1-}"
  id=$1
  export GIT_TERMINAL_PROMPT=0
  mkdir -p "$sessions/$1/collect" || fail 74 "$sessions/$1 is not writable"
  with_lock "$sessions/$1/collect" collect_locked "$sessions/$1" || fail $? "the results of $id cannot be gathered"
}

