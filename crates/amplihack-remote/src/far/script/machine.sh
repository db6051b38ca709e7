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

