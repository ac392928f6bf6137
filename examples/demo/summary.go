package main

import "fmt"

// summary writes the proofs, and where to go from here; it says whether all promises were kept.
func (d *demo) summary(proofs []proof) bool {
	kept := 0
	fmt.Fprintln(d.out)
	for _, p := range proofs {
		mark := d.paint.in(red, "✗")
		if p.ok {
			kept++
			mark = d.paint.in(green, "✓")
		}
		fmt.Fprintf(d.out, "%s %s\n    %s\n", mark, d.paint.in(bold, p.claim), p.evidence)
	}
	fmt.Fprintln(d.out)
	if kept < len(proofs) {
		fmt.Fprintln(d.out, d.paint.in(red, fmt.Sprintf("%d of %d promises were broken.", len(proofs)-kept, len(proofs))))
		return false
	}
	fmt.Fprintf(d.out, "%s Where to look next:\n", d.paint.in(green, "All promises were kept."))
	for _, next := range [][2]string{
		{"make dev", "a director to play with, its API as a page, a token for you"},
		{"README.md", "be a game server and a player yourself, with curl"},
		{"docs/", "how to run game servers, write clients, and operate it"},
		{"examples/arena/", "the game server and the bots that you have just seen"},
	} {
		fmt.Fprintf(d.out, "  %s %s\n", d.paint.in(cyan, fmt.Sprintf("%-16s", next[0])), next[1])
	}
	return true
}
