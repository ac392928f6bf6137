package main

import "github.com/spf13/cobra"

// describeCompletion adds examples to cobra's completion command, because every command of ours has one.
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
