package main

import "github.com/spf13/cobra"

// describeCompletion gives the command that cobra makes the example that every command of ours has.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Example = "  source <(director completion bash)"
		for _, shell := range cmd.Commands() {
			shell.Example = "  director completion " + shell.Name() + " --help"
		}
	}
}
