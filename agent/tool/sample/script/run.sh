# The inputs are variables, and all of them are JSON on standard input.
words=$(printf '%s' "$HOCKET_INPUT_text" | wc -w)
echo "{\"words\": $((words))}"
