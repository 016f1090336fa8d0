# The ledger of a target: a command that is asked for under a key is executed at most once, and what came of it is kept.
#
# This text and one call at its end arrive together on standard input, inside one pair of braces: a shell parses the
# whole of it before it executes anything, so a connection that breaks in mid sentence executes nothing.
#
# Files of a key, in one directory a run:
#   KEY       "PID START BOOT GROUP", created exclusively before the command starts: who creates it owns the command;
#             at the end a second line "ended CODE" or "timed-out CODE"
#   KEY.out KEY.err   what the command printed
#   KEY.late  its time was over
# START (in ticks since the machine started) and BOOT tell the owner from a process that got its number later.
#
# The owner is the shell that the connection started. It has no terminal, so a lost connection sends it no signal, and
# nothing of it writes to the connection before the end is recorded. The command is not a background job: a shell would make
# those ignore SIGINT and SIGQUIT, and everything that the command starts would inherit that.
#
# Answers: one line that begins with `manent-ledger`, then what the command printed. Needs Linux's /proc.

manent_refuse() { echo "manent-ledger refused $1"; exit 0; }

manent_place() {
  exec 3>&2 2>/dev/null
  base=$1
  : "${base:=${XDG_STATE_HOME:-${HOME:+$HOME/.local/state}}}"
  [ -n "$base" ] || manent_refuse 'neither HOME nor XDG_STATE_HOME is set there'
  base=$base/manent
  key=$base/$2/$3
}

# Makes the directory of a run; the first use of it removes what runs of more than a week ago left.
manent_prepare() {
  mkdir -p "${base%/*}" && { [ -d "$base" ] || mkdir -m 700 "$base" || [ -d "$base" ]; } &&
    mkdir -p "${key%/*}" || return 1
  find "$base" -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec rm -rf {} +
  return 0
}

# Sets PID, START, BOOT and GROUP of this shell.
manent_self() {
  read -r stat < /proc/self/stat && read -r BOOT < /proc/sys/kernel/random/boot_id || return 1
  PID=${stat%% *}
  # The name of the program stands in parentheses and may hold blanks.
  set -- ${stat##*) }
  GROUP=$3
  shift 19
  START=$1
}

# Whether the process PID START BOOT is there; `Z` is one that has ended and was not collected.
manent_alive() {
  read -r boot < /proc/sys/kernel/random/boot_id && [ "$boot" = "$3" ] || return 1
  read -r stat < "/proc/$1/stat" || return 1
  start=$2
  set -- ${stat##*) }
  [ "$1" != Z ] && shift 19 && [ "$1" = "$start" ]
}

# Sets STATE of the key: absent, running, died, or how it ended.
manent_state() {
  STATE=absent
  [ -e "$key" ] || return 0
  manent_ended && return 0
  STATE=running
  if [ -z "$owner" ]; then
    # Created and not yet written; a minute later its creator is gone.
    [ -z "$(find "$key" -mmin +1)" ] || STATE=died
    return 0
  fi
  set -- $owner
  manent_alive "$1" "$2" "$3" && return 0
  # It may have ended between the two looks.
  manent_ended && return 0
  # The command outlives an owner that was killed, in the owner's group.
  [ "$boot" = "$3" ] && [ "$4" = "$1" ] && kill -s 0 -- "-$4" && return 0
  STATE=died
}

# Reads a key; lines that are not whole do not count.
manent_ended() {
  { read -r owner || owner=; read -r end || end=; } < "$key"
  [ -n "$end" ] && STATE=$end
}

manent_tell() {
  echo "manent-ledger $STATE"
  [ ! -s "$key.out" ] || tail -c 65536 "$key.out"
  [ ! -s "$key.err" ] || tail -c 65536 "$key.err" >&3
}

# A signal to everything in the owner's group but the owner and its watch.
manent_signal() {
  for dir in /proc/[0-9]*; do
    read -r stat < "$dir/stat" || continue
    set -- "$1" ${stat##*) }
    [ "$4" = "$GROUP" ] && [ "${dir#/proc/}" != "$PID" ] && [ "${dir#/proc/}" != "$self" ] && kill -s "$1" "${dir#/proc/}"
  done
}

# Ends the command when its time is over, and keeps its output from filling the disk.
manent_watch() {
  read -r stat < /proc/self/stat
  self=${stat%% *}
  past=0
  while sleep 1; do
    past=$((past + 1))
    for file in $(cd "${key%/*}" && find "${key##*/}.out" "${key##*/}.err" -size +32768); do
      tail -c 65536 "${key%/*}/$file" > "$key.cut" && cat "$key.cut" > "${key%/*}/$file"
      rm -f "$key.cut"
    done
    [ "$past" -lt "$limit" ] || break
  done
  true > "$key.late"
  manent_signal TERM
  sleep 10
  while :; do manent_signal KILL; sleep 1; done
}

manent_own() {
  ( manent_watch ) < /dev/null > /dev/null 3>&- &
  watch=$!
  ( exec "$@" ) < /dev/null >> "$key.out" 2>> "$key.err" 3>&-
  code=$?
  kill "$watch"
  STATE="ended $code"
  [ ! -e "$key.late" ] || STATE="timed-out $code"
  printf '%s\n' "$STATE" >> "$key"
}

manent_exec() {
  manent_place "$1" "$2" "$3"
  limit=$4
  shift 4
  [ -d "${key%/*}" ] || manent_prepare || manent_refuse "the directory \`$base\` cannot be made there"
  manent_self || manent_refuse 'there is no /proc there'
  set -C
  if true > "$key"; then
    set +C
    if ! printf '%s\n' "$PID $START $BOOT $GROUP" > "$key"; then
      rm -f "$key"
      manent_refuse "the directory \`$base\` cannot be written there"
    fi
    manent_own "$@"
  else
    set +C
    [ -e "$key" ] || manent_refuse "the directory \`$base\` cannot be written there"
    manent_state
    while [ "$STATE" = running ]; do
      sleep 0.1 || sleep 1
      manent_state
    done
  fi
  manent_tell
}

manent_probe() {
  manent_place "$1" "$2" "$3"
  manent_state
  manent_tell
}
