// Package verify checks whether a match satisfies its profile, and whether tickets allow a match at all. It is the
// second opinion on match/decide: it computes everything anew from the tickets, in the plainest way, however slow, and
// shares no code with what it judges. Tests and the demo check decisions with it; the product does not import it.
//
//	check.go                  whether a match satisfies a profile, in one of the regions that it may have
//	candidate.go              whether a ticket may be in a match of the profile at all
//	players.go                whether tickets are seated with all their players, and everybody once
//	teams.go, roles.go        the sizes of teams, parties in several teams; the players' roles
//	mode.go, join.go          the session's mode; newcomers of a session that plays already
//	trade.go                  whether the players have waited for as long as the match costs them
//	rules.go, rules_KIND.go   which check each kind of rule has, and one kind a file, or several that are alike
//	limits.go                 the limits of a rule at the age of a match
//	attribute.go              the value of a player that a rule compares, and players who lack it
//	entry.go, fold.go         the values of players and parties side by side; one value of many
//	match.go                  the types
//	find.go, guess.go         the search for a valid match: of a few tickets by trying all, of many by random
package verify
