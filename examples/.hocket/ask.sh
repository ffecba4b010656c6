#!/bin/sh
# Gives a task to a model on the command line: the agent's prompt comes on
# standard input, the task's inputs in HOCKET_INPUTS. MODEL names another program
# that reads a prompt and prints an answer.
{
  cat
  printf '\nYour inputs, as JSON: %s\n' "$HOCKET_INPUTS"
} | ${MODEL:-claude -p}
