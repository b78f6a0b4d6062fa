# Completes the words and flags of the command granary, which it asks for them with `help` and `--help`.

_granary() {
  local current=${COMP_WORDS[COMP_CWORD]} granary=${COMP_WORDS[0]} words='' word i
  granary=${granary/#\~/$HOME}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word =~ ^[a-z]+$ ]] || break
    words+="$word "
  done
  COMPREPLY=()
  if [[ $current == -* ]]; then
    # shellcheck disable=SC2086  # several words
    mapfile -t COMPREPLY < <(compgen -W "$("$granary" $words --help 2> /dev/null | sed -n 's/^ *\(--[a-z_]*\).*/\1/p')" -- "$current")
  elif [[ $words == 'bench ' ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$granary" help bench | sed -n 's/^  \([a-z]*\) .*/\1/p')" -- "$current")
  elif [[ $words == 'figure ' ]]; then
    mapfile -t COMPREPLY < <(compgen -W "compare gallery $("$granary" figure 2> /dev/null | sed -n 's/^\([a-z0-9-]*\)  .*/\1/p')" -- "$current")
  else
    # The help has lines such as `  granary log stat DIR   what ...`: of those that begin with the words up to here, the next word.
    mapfile -t COMPREPLY < <(compgen -W "$("$granary" help | sed -n "s/^  granary $words\([a-z]*\) .*/\1/p" | sort -u)" -- "$current")
  fi
  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _granary granary
