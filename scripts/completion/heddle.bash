# Completion of heddle for bash. Commands and options are read from the command's own help.

_heddle_words()
{
    # Words of the first column, "-o, --output-file FILE" and "  run   run a program" alike.
    "$@" 2>/dev/null | sed -n "s/^  \($pattern\)/\1/p" | sed 's/  .*//' | tr ', ' '\n\n' | grep -x -e "$pattern.*"
}

_heddle()
{
    local heddle=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command= pattern i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) ;;
        *)
            command=${COMP_WORDS[i]}
            break
            ;;
        esac
    done
    COMPREPLY=()
    if [[ $word == -* ]]; then
        pattern=-
        COMPREPLY=($(compgen -W "$(_heddle_words "$heddle" ${command:+"$command"} --help)" -- "$word"))
    elif [[ -z $command || $command == help ]]; then
        pattern='[a-z]'
        COMPREPLY=($(compgen -W "$(_heddle_words "$heddle" --help)" -- "$word"))
    fi
}

complete -o default -F _heddle heddle
