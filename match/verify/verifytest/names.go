package verifytest

// The names that profiles and tickets share. Each attribute has one kind.
var (
	numbers = []string{"skill", "level"}
	words   = []string{"clan", "platform"}
	lists   = []string{"maps", "languages"}
	values  = []string{"a", "b", "c"}
	roles   = []string{"tank", "healer"}
	regions = []string{"ap", "eu", "us"}
	// blocked lists the subs that a player avoids.
	blocked = "blocked"
)
