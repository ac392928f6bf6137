package main

import "strings"

// skippedDirectories hold what is not this project's Go code.
var skippedDirectories = []string{".bin", ".git", "node_modules", "testdata"}

// bareWords are names that say how something is, where or when, and not what it is.
var bareWords = set(`
	after again alive all allowed alone around asked at before begun broken busy by can cut decided done doubted drained due
	found free full given gone granted heard held in is kept known late least left live locked lost made may mine more most
	named near of open other others ours over owes placed same says seen shown silent spent stale stored taken to told used
	waited waits wanted was`)

// verbs are those of bareWords that also say what a function does.
var verbs = set(`cut free open`)

func isBare(name string) bool { return bareWords[strings.ToLower(name)] }

func isVerb(name string) bool { return verbs[strings.ToLower(name)] }

func set(words string) map[string]bool {
	s := map[string]bool{}
	for _, word := range strings.Fields(words) {
		s[word] = true
	}
	return s
}
