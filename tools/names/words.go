package main

import "strings"

// skippedDirectories are names of directories in which there is no Go code of this project.
var skippedDirectories = []string{".bin", ".git", "node_modules", "testdata"}

// bareWords are names that say how something is, where or when, and not what it is.
var bareWords = wordSet(`
	after again alive all allowed alone around asked at before begun broken busy by can cut decided done doubted drained due
	found free full given gone granted heard held in is kept known late least left live locked lost made may mine more most
	named near of open other others ours over owes placed same says seen shown silent spent stale stored taken to told used
	waited waits wanted was`)

// verbs are those of bareWords that also say what a function does.
var verbs = wordSet(`cut free open`)

func isBare(name string) bool { return bareWords[strings.ToLower(name)] }

func isVerb(name string) bool { return verbs[strings.ToLower(name)] }

// wordSet returns the words of a text.
func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return words
}
