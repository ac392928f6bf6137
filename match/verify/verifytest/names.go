package verifytest

// blockedAttribute lists the subs that a player avoids.
const blockedAttribute = "blocked"

// The names that profiles and tickets share. Each attribute has one kind.
var (
	numberAttributes = []string{"skill", "level"}
	textAttributes   = []string{"clan", "platform"}
	listAttributes   = []string{"maps", "languages"}
	attributeTexts   = []string{"a", "b", "c"} // of texts and lists
	roles            = []string{"tank", "healer"}
	regions          = []string{"ap", "eu", "us"}
)
