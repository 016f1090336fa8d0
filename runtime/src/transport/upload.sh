# Brings a file to its place: nothing is sent when it is there already, and nothing is at its place before it is whole.
# Arrives on standard input before the content. Prints `same`, or `send`, and after the content `done`.

manent_fail() { printf '%s\n' "$1" >&2; exit 1; }

manent_upload() {
  to=$1 sha256=$2 tmp=$3
  case $to in
    */*) dir=${to%/*}/ ;;
    *) dir=./ ;;
  esac
  [ ! -L "$to" ] || manent_fail "\`$to\` is a link there"
  [ ! -d "$to" ] || manent_fail "\`$to\` is a directory there"
  [ -d "$dir" ] || manent_fail "there is no directory \`$dir\` there"
  if [ -f "$to" ] && [ "$(sha256sum < "$to")" = "$sha256  -" ]; then
    echo same
    exit 0
  fi
  # A name that nobody can foresee, made exclusively, in the same directory, and written through one open file.
  tmp=$dir$tmp
  set -C
  true > "$tmp" || manent_fail "\`$tmp\` cannot be made there"
  trap 'rm -f "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM PIPE
  set +C
  echo send
  cat > "$tmp" || manent_fail "\`$tmp\` cannot be written there"
  [ "$(sha256sum < "$tmp")" = "$sha256  -" ] || manent_fail 'the file did not arrive whole'
  [ ! -e "$to" ] || chmod --reference="$to" "$tmp" 2> /dev/null
  sync -d "$tmp" 2> /dev/null
  mv -fT "$tmp" "$to" || manent_fail "\`$tmp\` cannot be renamed to \`$to\` there"
  trap - EXIT
  echo done
}
