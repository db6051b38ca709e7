#!/bin/sh
# Installs amplihack for this user, from a release: its folder, its archive, or an address that has its archive.
set -eu
umask 022

usage() {
    cat <<'END'
usage: install.sh [SOURCE] [--prefix DIR] [--version VERSION] [--sha256 SUM] [--force]
       install.sh --rollback [--prefix DIR]     return to the previous version
       install.sh --uninstall [--prefix DIR]    remove amplihack, restore what was there before

SOURCE is the folder of a release, its .tar.gz, a directory that has the .tar.gz, or an https:// address that has
SHA256SUMS and the .tar.gz. Default: $AMPLIHACK_DOWNLOAD_URL, else the release or the archive beside this script.

Programs go to $AMPLIHACK_INSTALL_DIR, by default ~/.local/bin; completions and manual pages to $XDG_DATA_HOME, by
default ~/.local/share. With --prefix they go to DIR/bin and DIR/share.

  --version VERSION  which version, if SOURCE has several
  --sha256 SUM       the checksum that the archive must have
  --force            replace programs of the same names that this script did not install; --uninstall restores them
END
}

say() { printf '%s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
misused() {
    printf 'error: %s; see install.sh --help\n' "$*" >&2
    exit 2
}

# ---- what is asked for

read_arguments() {
    source='' prefix='' wanted='' pinned='' force='' job=install
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h)
            usage
            exit 0
            ;;
        --prefix | --version | --sha256)
            [ $# -gt 1 ] || misused "$1 needs a value"
            case $1 in
            --prefix) prefix=$2 ;;
            --version) wanted=$2 ;;
            --sha256) pinned=$2 ;;
            esac
            shift
            ;;
        --force) force=yes ;;
        --rollback) job=rollback ;;
        --uninstall) job=uninstall ;;
        -*) misused "unknown option $1" ;;
        '') misused 'an empty SOURCE' ;;
        *)
            [ -z "$source" ] || misused "two sources, $source and $1"
            source=$1
            ;;
        esac
        shift
    done
}

find_places() {
    case ${HOME-} in
    /*) ;;
    *) fail 'HOME is no absolute path; set it' ;;
    esac
    HOME=$(plain "$HOME")
    if [ -n "$prefix" ]; then
        case $prefix in
        /*) ;;
        *) prefix=$PWD/$prefix ;;
        esac
        prefix=$(plain "$prefix")
        programs=$prefix/bin share=$prefix/share
    else
        programs=${AMPLIHACK_INSTALL_DIR:-$HOME/.local/bin}
        case ${XDG_DATA_HOME-} in
        /*) share=$XDG_DATA_HOME ;;
        *) share=$HOME/.local/share ;;
        esac
    fi
    case $programs in
    *"$newline"*) fail 'a directory has a line break in its name' ;;
    /*) ;;
    *) fail "AMPLIHACK_INSTALL_DIR is no absolute path: $programs" ;;
    esac
    programs=$(plain "$programs") share=$(plain "$share")
    state=$share/amplihack
    # What is above them is not ours, empty or not.
    above_programs=$(dirname "${prefix:-$programs}") above_share=$(dirname "${prefix:-$share}")
    case $programs/ in "$HOME"/*) above_programs=$HOME ;; esac
    case $share/ in "$HOME"/*) above_share=$HOME ;; esac
}

find_platform() {
    case $(uname -s) in
    Linux) ;;
    *) fail "there are releases for Linux only, and this is $(uname -s); build it from source: cargo install --path crates/amplihack-cli" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
    *) fail "there are no releases for $(uname -m); build it from source: cargo install --path crates/amplihack-cli" ;;
    esac
}

# ---- tools

has() { command -v "$1" >/dev/null 2>&1; }

sum_of() {
    if has sha256sum; then
        sha256sum <"$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    fi
}

# fetch ADDRESS FILE
fetch() {
    if has curl; then
        case $1 in
        https:*) schemes='=https' ;;
        *) schemes='=http' ;;
        esac
        curl --fail --silent --show-error --location --proto "$schemes" --connect-timeout 20 \
            --speed-limit 1 --speed-time 30 --output "$2" "$1"
    elif has wget; then
        wget -q -T 30 -O "$2" "$1"
    else
        fail 'neither curl nor wget is on PATH; install one, or download the archive and name it as SOURCE'
    fi || fail "failed to download $1; nothing was changed"
}

# A file under a second name, by a copy where there is no other way.
keep() {
    mkdir -p "$(dirname "$2")"
    rm -f "$2"
    ln -P "$1" "$2" 2>/dev/null || cp -pP "$1" "$2"
}

# Removes a directory that nothing is in any more, and those above it, up to what was there before this script.
tidy() {
    empty=$1
    while :; do
        case $empty in "$HOME" | "$above_programs" | "$above_share" | /) return ;; esac
        rmdir "$empty" 2>/dev/null || return 0
        empty=$(dirname "$empty")
    done
}

# A directory's name without slashes at its end, so that it is the same name each time.
plain() {
    plain=$1
    while [ "${plain%/}" != "$plain" ]; do plain=${plain%/}; done
    printf '%s\n' "$plain"
}

# Also a link that leads nowhere is there.
there() { [ -e "$1" ] || [ -L "$1" ]; }

# ---- the release

# The folder of the release that is asked for, read into $work/release.
get_release() {
    mkdir "$work/release"
    if [ "$job" = rollback ]; then
        [ -f "$state/previous/installed" ] || fail "there is no previous version in $state/previous"
        head -n 1 "$state/previous/installed" >"$work/RELEASE"
        tail -n +3 "$state/previous/installed" >"$work/SUMS"
        take_folder "$state/previous" "$work/RELEASE" "$work/SUMS"
        return
    fi
    if [ -z "$source" ]; then
        own=$(dirname "$0")
        if [ -n "${AMPLIHACK_DOWNLOAD_URL-}" ]; then
            source=$AMPLIHACK_DOWNLOAD_URL
        elif [ "$(basename "$0")" = install.sh ] && { [ -f "$own/RELEASE" ] || has_archive "$own"; }; then
            source=$own
        else
            misused 'no SOURCE: name a folder, an archive or an address, or set AMPLIHACK_DOWNLOAD_URL'
        fi
    fi
    # A directory that has archives, and is not a release itself.
    if [ -d "$source" ] && [ ! -f "$source/RELEASE" ] && has_archive "$source"; then
        source=$(archive_in "$source")
    fi
    case $source in
    https://* | http://*)
        download "${source%/}"
        unpack "$work/$archive"
        ;;
    *://*) misused "an address begins with https://, not like $source" ;;
    *)
        if [ -d "$source" ]; then
            [ -z "$pinned" ] || misused '--sha256 is the sum of an archive, and SOURCE is a folder'
            [ -f "$source/RELEASE" ] || fail "$source is not the folder of a release: it has no file RELEASE"
            take_folder "$source" "$source/RELEASE" "$source/SHA256SUMS"
        elif [ -f "$source" ]; then
            cp "$source" "$work/archive.tar.gz"
            beside=$(dirname "$source")/SHA256SUMS
            expected=$pinned
            if [ -z "$expected" ] && [ -f "$beside" ]; then
                expected=$(listed "$beside" "$(basename "$source")")
                [ -n "$expected" ] || fail "$beside does not list $source"
            fi
            [ -z "$expected" ] || check "$work/archive.tar.gz" "$expected" "$source"
            unpack "$work/archive.tar.gz"
        else
            fail "there is no folder or archive $source"
        fi
        ;;
    esac
}

# has_archive DIR: whether DIR has an archive for this machine
has_archive() {
    for beside in "$1"/amplihack-*-"$target".tar.gz; do
        [ ! -f "$beside" ] || return 0
    done
    return 1
}

# archive_in DIR: the archive for this machine, of the version that is asked for
archive_in() {
    found=''
    for beside in "$1"/amplihack-*-"$target".tar.gz; do
        version=${beside##*/amplihack-} version=${version%-"$target".tar.gz}
        [ -z "$wanted" ] || [ "$wanted" = "$version" ] || continue
        [ -z "$found" ] || fail "$1 has several versions; choose one with --version"
        found=$beside
    done
    [ -n "$found" ] || fail "$1 has no archive ${wanted:+of version $wanted }for $target"
    printf '%s\n' "$found"
}

# listed SUMS NAME: the sum of NAME
listed() {
    while read -r listed_sum listed_name; do
        [ "$listed_name" != "$2" ] || printf '%s\n' "$listed_sum"
    done <"$1"
}

# check FILE SUM NAME
check() {
    [ "$(sum_of "$1")" = "$2" ] || fail "the checksum of $3 is not $2: it is damaged, or not what was published; nothing was changed"
}

download() {
    case $1 in
    *@*) misused "an address with a name or password in it" ;;
    https://*) ;;
    http://localhost[:/]* | http://127.0.0.1[:/]* | http://localhost | http://127.0.0.1 | 'http://[::1]'*) ;;
    *) [ -n "$pinned" ] || fail "$1 is not encrypted: what comes from it could be anything; use https://, or give the archive's sum with --sha256" ;;
    esac
    fetch "$1/SHA256SUMS" "$work/SHA256SUMS"
    archive='' expected=''
    while read -r sum name; do
        case $name in
        *[!A-Za-z0-9._+-]*) continue ;;
        amplihack-*-"$target".tar.gz) ;;
        *) continue ;;
        esac
        version=${name#amplihack-} version=${version%-"$target".tar.gz}
        [ -z "$wanted" ] || [ "$wanted" = "$version" ] || continue
        [ -z "$archive" ] || fail "$1 has several versions; choose one with --version"
        archive=$name expected=$sum
    done <"$work/SHA256SUMS"
    [ -n "$archive" ] || fail "$1/SHA256SUMS lists no archive ${wanted:+of version $wanted }for $target"
    say "downloading $1/$archive"
    fetch "$1/$archive" "$work/$archive"
    check "$work/$archive" "${pinned:-$expected}" "$archive"
}

unpack() {
    mkdir "$work/unpacked"
    tar -xzf "$1" -C "$work/unpacked" || fail "failed to unpack $1; nothing was changed"
    for folder in "$work/unpacked"/*; do
        [ -f "$folder/RELEASE" ] || fail 'the archive holds no folder of a release'
        take_folder "$folder" "$folder/RELEASE" "$folder/SHA256SUMS"
        return
    done
}

# take_folder FOLDER RELEASE SUMS: copies what is to be installed, and checks the copies.
take_folder() {
    read -r name version built_for <"$2" || fail "$2 cannot be read"
    [ "$name" = amplihack ] || fail "$2 does not begin with amplihack"
    [ "$built_for" = "$target" ] || fail "this release is for $built_for, and this machine is $target"
    [ -z "$wanted" ] || [ "$wanted" = "$version" ] || fail "this release is version $version, not $wanted"
    [ -f "$3" ] || fail "$1 has no SHA256SUMS"
    : >"$work/sums"
    while read -r sum name; do
        case $name in
        /* | *..*) fail "$3 names a file outside of the release: $name" ;;
        bin/* | share/*) printf '%s  %s\n' "$sum" "$name" >>"$work/sums" ;;
        install.sh) ;;
        *) continue ;;
        esac
        [ -f "$1/$name" ] || fail "$1 has no $name; nothing was changed"
        mkdir -p "$(dirname "$work/release/$name")"
        cp -p "$1/$name" "$work/release/$name"
        check "$work/release/$name" "$sum" "$name"
    done <"$3"
    # Kept beside what is installed, for --rollback and --uninstall.
    [ -f "$work/release/install.sh" ] || cp "$1/install.sh" "$work/release/install.sh"
    said=$("$work/release/bin/amplihack" --version 2>&1 </dev/null || true)
    [ "$said" = "amplihack $version" ] ||
        fail "the program of this release does not run here ($said); if programs may not run in $work, set TMPDIR; nothing was changed"
}

# ---- what is installed. $state/installed: name and version; "programs DIR"; the sum and the name of every file.

place_of() {
    case $1 in
    bin/*) printf '%s\n' "$programs/${1#bin/}" ;;
    share/*) printf '%s\n' "$share/${1#share/}" ;;
    esac
}

names_in() { tail -n +3 "$1" | cut -d ' ' -f 3-; }

# clear_place NAME PLACE: what was there before this script's own comes back, or nothing is there.
clear_place() {
    if there "$state/replaced/$1"; then
        put "$state/replaced/$1" "$2"
    else
        rm -f "$2"
        tidy "$(dirname "$2")"
    fi
}

# What was cut off in the middle is taken back.
recover() {
    [ -f "$state/installing" ] || return 0
    names_in "$state/installing" >"$work/names"
    [ ! -f "$state/previous.new/installed" ] || names_in "$state/previous.new/installed" >>"$work/names"
    while read -r name; do
        place=$(place_of "$name")
        rm -f "$place.amplihack-new"
        if [ -f "$state/previous.new/$name" ]; then
            put "$state/previous.new/$name" "$place"
        else
            clear_place "$name" "$place"
        fi
    done <"$work/names"
    rm -rf "$state/previous.new"
    [ -f "$state/installed" ] || rm -rf "$state/replaced"
    rm -f "$state/installing"
}

# put FILE PLACE: in one step; whoever runs the old one goes on with it.
put() {
    mkdir -p "$(dirname "$2")"
    # A copy: a rename over another name of the same file does nothing.
    cp -pP "$1" "$2.amplihack-new"
    mv -f "$2.amplihack-new" "$2"
}

# Whether the file at place $2 is what was installed under the name $1.
is_ours() {
    [ -f "$state/installed" ] || return 1
    [ "$(listed "$state/installed" "$1")" = "$(sum_of "$2" 2>/dev/null)" ]
}

# Programs of our names that are somebody else's.
look_for_others() {
    while read -r sum name; do
        place=$(place_of "$name")
        there "$place" || continue
        [ ! -d "$place" ] || fail "$place is a directory; remove it; nothing was changed"
        case $name in
        bin/*) ;;
        *) continue ;;
        esac
        [ -z "$force" ] || continue
        is_ours "$name" "$place" || [ "$(sum_of "$place" 2>/dev/null)" = "$sum" ] ||
            fail "$place is there, and this script did not install it; remove it, or replace it with --force; nothing was changed"
    done <"$work/sums"
}

change() {
    mkdir -p "$programs" "$state"
    old=$state/installed
    # All of the new files are on the disk before the first old one is touched.
    stage=$state/stage.$$
    cp -R "$work/release" "$stage" 2>"$work/said" ||
        fail "failed to write the files to $state: $(head -n 1 "$work/said"); nothing was changed"
    rm -rf "$state/previous.new"
    mkdir "$state/previous.new"
    if [ -f "$old" ]; then
        names_in "$old" >"$work/names"
        while read -r name; do
            place=$(place_of "$name")
            [ ! -f "$place" ] || ! is_ours "$name" "$place" || keep "$place" "$state/previous.new/$name"
        done <"$work/names"
        [ ! -f "$state/install.sh" ] || keep "$state/install.sh" "$state/previous.new/install.sh"
        cp "$old" "$state/previous.new/installed"
    fi
    while read -r sum name; do
        place=$(place_of "$name")
        there "$place" || continue
        [ -f "$state/previous.new/$name" ] || keep "$place" "$state/replaced/$name"
    done <"$work/sums"
    {
        printf 'amplihack %s %s\nprograms %s\n' "$version" "$target" "$programs"
        cat "$work/sums"
    } >"$work/installed"
    cp "$work/installed" "$state/installing.$$"

    trap '' HUP INT TERM
    undo=yes
    mv -f "$state/installing.$$" "$state/installing"
    # The program that people start comes last.
    while read -r sum name; do
        [ "$name" = bin/amplihack ] || put "$stage/$name" "$(place_of "$name")"
    done <"$work/sums"
    put "$stage/bin/amplihack" "$programs/amplihack"
    # What the new version does not have any more.
    if [ -f "$old" ]; then
        while read -r name; do
            place=$(place_of "$name")
            [ -n "$(listed "$work/sums" "$name")" ] || ! is_ours "$name" "$place" 2>/dev/null || rm -f "$place"
        done <"$work/names"
    fi
    put "$stage/install.sh" "$state/install.sh"
    mv -f "$state/installing" "$state/installed"
    undo=''
    if [ -f "$state/previous.new/installed" ]; then
        rm -rf "$state/previous"
        mv "$state/previous.new" "$state/previous"
    fi
    rm -rf "$state/previous.new" "$stage"
}

advise() {
    case ":$PATH:" in
    *":$programs:"*)
        first=$(command -v amplihack || true)
        [ "$first" = "$programs/amplihack" ] || say "note: ${first:-nothing} comes first on PATH, before $programs/amplihack"
        ;;
    *)
        case ${SHELL-} in
        */fish) say "add it to PATH: fish_add_path $programs" ;;
        */zsh) say "add it to PATH, in ~/.zshrc: export PATH=\"$programs:\$PATH\"" ;;
        *) say "add it to PATH, in ~/.profile: export PATH=\"$programs:\$PATH\"" ;;
        esac
        ;;
    esac
    case ${SHELL-} in
    */zsh) say "completions, in ~/.zshrc before compinit: fpath=($share/zsh/site-functions \$fpath)" ;;
    esac
}

# ---- the jobs

same_place() {
    [ -f "$state/installed" ] || return 0
    there=$(sed -n '2s/^programs //p' "$state/installed")
    [ "$there" = "$programs" ] ||
        fail "amplihack is installed in $there; set AMPLIHACK_INSTALL_DIR to it, or uninstall it there first"
}

# Nobody else's installation at the same time.
lock() {
    mkdir -p "$state"
    if ! mkdir "$state/lock" 2>/dev/null; then
        holder=$(cat "$state/lock/pid" 2>/dev/null || true)
        if [ -z "$holder" ] || kill -0 "$holder" 2>/dev/null; then
            fail "another installation is at work in $state; wait for it, or remove $state/lock"
        fi
    fi
    locked=yes
    # Of one that was killed.
    rm -rf "$state"/stage.* "$state"/installing.*
    printf '%s\n' $$ >"$state/lock/pid"
}

install_release() {
    find_platform
    # In a command substitution a failure would end that alone.
    has sha256sum || has shasum || fail 'neither sha256sum nor shasum is on PATH; install one: nothing is installed unchecked'
    get_release
    same_place
    lock
    recover
    look_for_others
    change
    say "amplihack $version is installed in $programs"
    [ ! -d "$state/previous" ] || say "to return to the previous version: sh $state/install.sh --rollback"
    advise
}

uninstall() {
    [ -f "$state/installed" ] || [ -f "$state/installing" ] || fail "nothing that this script installed is in $programs"
    same_place
    lock
    recover
    if [ ! -f "$state/installed" ]; then
        say 'undoing an installation that was interrupted'
        return
    fi
    # Hooks whose program is gone would stop every call of every agent.
    if [ -x "$programs/amplihack" ]; then
        "$programs/amplihack" uninstall >/dev/null </dev/null || fail 'the hooks could not be removed; nothing was uninstalled'
        left=${AMPLIHACK_HOME:-$HOME/.amplihack}/install/journal.json
        if [ -f "$left" ] && [ -z "$force" ]; then
            fail "hooks are still installed in repositories, see $left; run there: amplihack uninstall --scope repo; the programs stay until then"
        fi
    fi
    names_in "$state/installed" >"$work/names"
    while read -r name; do
        place=$(place_of "$name")
        [ -f "$place" ] || continue
        if ! is_ours "$name" "$place"; then
            say "kept: $place, which is not what was installed"
        else
            clear_place "$name" "$place"
        fi
    done <"$work/names"
    rm -rf "$state"
    locked=''
    tidy "$share"
    say "amplihack was removed from $programs"
    left=${AMPLIHACK_HOME:-$HOME/.amplihack}
    [ ! -d "$left" ] || say "its sessions and settings are still in $left"
}

leave() {
    code=$?
    trap '' HUP INT TERM
    # A change that broke off is taken back, by what it kept.
    if [ -n "$undo" ] && ! (recover); then
        printf 'error: the installation could not be undone; run this script again\n' >&2
    fi
    [ -z "$stage" ] || rm -rf "$stage" "$state/installing.$$"
    if [ -n "$locked" ]; then
        rm -rf "$state/lock"
        [ -f "$state/installed" ] || [ -f "$state/installing" ] || {
            rm -rf "$state"
            tidy "$share"
            tidy "$programs"
        }
    fi
    rm -rf "$work"
    exit "$code"
}

main() {
    newline='
'
    read_arguments "$@"
    find_places
    work='' undo='' stage='' locked=''
    work=$(mktemp -d "${TMPDIR:-/tmp}/amplihack-install.XXXXXX")
    trap leave EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    case $job in
    uninstall) uninstall ;;
    *) install_release ;;
    esac
}

# Last, so that a script that came only in part does nothing.
main "$@"
