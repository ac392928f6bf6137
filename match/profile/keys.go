package profile

import (
	"regexp"
	"time"
)

// Bounds of the parts of a profile.
const (
	maxTeams      = 64 // 150 players in teams of three are 50; each is tried for each party
	maxPlayers    = 1024
	maxRoles      = 16 // over all teams
	maxRules      = 32 // those within or, and, not included
	maxID         = 256
	maxSteps      = 16 // as a document lists them
	maxExpanded   = 256
	maxPrefer     = 5 // every set of them may be searched for
	maxAttributes = 64
	maxModes      = 8
	maxData       = 4 << 10
	maxClaimPath  = 8
	maxWait       = 24 * time.Hour // the longest a ticket waits
)

var (
	profileName = text{regexp.MustCompile(`^[a-z0-9-]{1,64}$`), "a name of 1 to 64 lowercase letters, digits and hyphens"}
	modeName    = text{regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`), "a mode of 1 to 64 letters, digits, dots, " +
		"hyphens and underscores"}
	regionName = text{regexp.MustCompile(`^[a-z0-9-]{1,32}$`), "a region of 1 to 32 lowercase letters, digits and " +
		"hyphens"}
	teamName = text{regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), "a name of 1 to 64 letters, digits, hyphens and " +
		"underscores"}
	hostName = text{regexp.MustCompile(`^([A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45})$`), "a host name or an IP " +
		"address, without port"}
	playerRange = text{regexp.MustCompile(`^[0-9]{1,4}\.\.[0-9]{1,4}$`), "a range such as 3..5"}

	claimPath = text{regexp.MustCompile(`^[^\x00-\x1f.]{1,64}(\.[^\x00-\x1f.]{1,64}){0,7}$`), "up to 8 names of 1 to 64 " +
		"characters, with dots between them"}

	attributeName = nameText("an attribute")
	roleName      = nameText("a role")
)

// nameText is a label that says what it names.
func nameText(what string) text {
	t := label(64)
	t.what = "the name of " + what + ", " + t.what
	return t
}

// players is a number of players, a range of it, or one that shrinks.
var (
	players   = either{number{1, maxPlayers, true}, playerRange, fillShape}
	fillShape = object{what: "a team to fill", fields: []field{
		{
			name: "fill", shape: number{2, maxPlayers, true}, required: true,
			about: "The number of players that the team has at first, and at most.",
		},
		{name: "for", shape: waiting, required: true, about: "The waiting time from which fewer are enough."},
		{name: "then", shape: number{1, maxPlayers, true}, required: true,
			about: "The least number of players from then on."},
	}}
)

// documentShape is the shape of a profile.
var documentShape = object{what: "a profile", fields: []field{
	{name: "name", shape: profileName, required: true, about: "The name that tickets and operators use."},
	{
		name: "mode", shape: either{modeName, list{element: modeName, min: 1, max: maxModes, distinct: true}},
		initial: "no mode: a match without seats",
		about: "The mode of its sessions. Of a list, a match takes the first mode that all its tickets allow and " +
			"that has room.",
	},
	{
		name: "pool", shape: poolShape, initial: "only tickets that name the profile",
		about: "The tickets that are candidates, by the filters of Open Match. Tickets that name the profile must be " +
			"in it as well. " +
			"Those that name no profile are candidates if they are in it.",
	},
	{
		name: "attributes", shape: dict{attributeName, attributeShape, 0, maxAttributes}, initial: "none",
		about: "The types of attributes. A ticket that names the profile is refused if an attribute has another " +
			"type, or is missing and has no default.",
	},
	{
		name: "teams", shape: list{element: teamShape, min: 1, max: maxTeams},
		about: "The teams of a match. One team is a free-for-all. Required, unless `function` decides.",
	},
	{
		name: "rules", shape: ruleList{maxRules: maxRules}, initial: "none",
		about: "What must hold for the players of a match. All rules must hold.",
	},
	{
		name: "prefer", shape: list{element: preferShape, max: maxPrefer}, initial: "none",
		about: "Rules that a match should satisfy, and need not. Of the matches that the search finds, it makes one " +
			"whose satisfied preferences weigh most, in sum. " +
			"No match is missed or delayed for them.",
	},
	{
		name: "fewer", shape: list{element: fewerShape, max: maxSteps}, initial: "none",
		about: "Smaller teams for tickets that have waited.",
	},
	{
		name: "fill", shape: fillBots, initial: "never",
		about: "The waiting time from which bots fill the teams, such as `bots after 45s`: then a team may have no player, " +
			"or those that its roles need, and a match one. The game server reads in the roster how many bots each team " +
			"needs to have its least number of players; rules do not count bots.",
	},
	{
		name: "autofill", shape: waiting, initial: "never",
		about: "The waiting time from which the players of a ticket take any role: first those of their attribute " +
			"`role`, then the others.",
	},
	{
		name: "age", shape: ageWords, initial: "oldest",
		about: "The ticket of a match whose waiting time decides the steps: the `oldest`, the `youngest`, the `mean` " +
			"of all, or `each`: " +
			"of two tickets, the stricter of their steps.",
	},
	{
		name: "trade", shape: tradeShape, initial: "none: a match is made as soon as the rules allow it",
		about: "What a second of waiting is worth: `skill: 10 per second` means that a second is worth 10 points of " +
			"skill. A match is made when its players have waited, " +
			"in sum, for as long as it costs them, and at the latest when its oldest ticket has waited for nine " +
			"tenths of `ttl`. A player pays for each attribute the " +
			"distance from the mean of the match; for `latency` (`5ms per second`) what the game region is slower " +
			"than the player's best one; for `balance` the " +
			"distance of the team from the mean of the teams.",
	},
	{
		name: "batch", shape: either{literal("oldest"), batchShape}, initial: "oldest",
		about: "The tickets that are tried first: the `oldest`, or neighbours by a number.",
	},
	{
		name: "priority", shape: priorityShape, initial: "none: who came first is first",
		about: "Tickets that take their turn earlier, such as those of players whose last match was broken off. " +
			"Rules, steps and `trade` count their real waiting time.",
	},
	{
		name: "order", shape: list{element: orderShape, max: 8}, initial: "by age",
		about: "The order in which a ticket prefers others. Age decides between equals.",
	},
	{
		name: "join_in_progress", shape: either{joinWords, joinShape}, initial: "never",
		about: "Whether newcomers join matches that are playing: `never`, `allow` (after whole matches) or `prefer` " +
			"(before whole matches).",
	},
	{
		name: "accept", shape: acceptShape, initial: "players are not asked",
		about: "A ready check: every player must accept the match.",
	},
	{
		name: "latency_jump", shape: latency, initial: "none: latencies count as the client says",
		about: "How far a latency may be from the one that counted for the player within the last day; what is beyond " +
			"counts as that limit. The latency that is compared changes at most once an hour. Of a party, each may be between " +
			"its players' latencies, give or take the jump. Of several profiles that a ticket names, the least counts. " +
			"Latencies that a backend sends count as they are.",
	},
	{
		name: "ttl", shape: length{10 * time.Second, maxWait}, initial: "10m",
		about: "How long a ticket waits before it expires.",
	},
	{name: "data", shape: anyJSON{maxData}, initial: "none", about: "Data for the game server, at most 4 KiB as JSON."},
	{
		name: "tell", shape: list{element: attributeName, max: maxAttributes, distinct: true},
		initial: "those of the rules, except `avoid`",
		about:   "The attributes that game servers read in the roster, at most 256 bytes a player.",
	},
	{
		name: "regions", shape: list{element: regionName, max: 64, distinct: true}, initial: "none",
		about: "Game regions in order of preference, for matches whose tickets have no latencies. " +
			"While no game server offers the profile's modes, matches wait for one in these regions.",
	},
	{
		name: "function", shape: functionShape, initial: "none",
		about: "A match function of Open Match that decides instead of teams and rules.",
	},
}}

var poolShape = object{what: "a pool", fields: []field{
	{
		name: "tags", shape: list{element: label(256), max: 64, distinct: true}, initial: "none",
		about: "Tags that a ticket must have.",
	},
	{
		name:    "strings",
		shape:   dict{label(256), text{regexp.MustCompile(`^[^\x00]{0,256}$`), "text of at most 256 characters"}, 0, 64},
		initial: "none",
		about:   "string_args that a ticket must have, with their values.",
	},
	{
		name: "doubles", shape: dict{label(256), doubleShape, 0, 64}, initial: "none",
		about: "double_args that a ticket must have, with their ranges.",
	},
}}

var doubleShape = object{what: "a range", fields: []field{
	{name: "min", shape: number{lowest, highest, false}, initial: "none", about: "The lowest value."},
	{name: "max", shape: number{lowest, highest, false}, initial: "none", about: "The highest value."},
	{name: "exclude", shape: excludeWords, initial: "none", about: "The ends of the range that are excluded."},
}}

var attributeShape = object{what: "an attribute", fields: []field{
	{name: "type", shape: typeWords, required: true, about: "The type of its values."},
	{
		name: "default", shape: value, initial: "none: a ticket must have the attribute",
		about: "The value for players without the attribute.",
	},
	{
		name: "from", shape: sourceWords, initial: "client",
		about: "Who must vouch for the value: the player's `client`, on its word; a `claim` of its access token, which the " +
			"identity provider has signed; or a `backend` of the studio, which stores attributes of players and queues for " +
			"them. A backend's value is also enough for `claim`. A ticket with a value of a weaker source is refused.",
	},
	{
		name: "claim", shape: either{claimPath, list{element: label(256), min: 1, max: maxClaimPath}},
		initial: "the name of the attribute",
		about: "With `from: claim`, the claim that has the value. Dots lead into objects: `game.skill`. A list names each " +
			"step, for names with dots: `['https://studio.example/game', skill]`.",
	},
}}

var teamShape = object{what: "a team", fields: []field{
	{name: "name", shape: teamName, required: true, about: "The name of the team."},
	{name: "players", shape: players, required: true, about: "The number of its players, or a range such as `3..5`. " +
		"`{fill: 16, for: 20s, then: 4}` waits for 16, and begins with what is there, at least 4, after 20 seconds."},
	{
		name: "step", shape: number{1, maxPlayers, true}, initial: "1",
		about: "The sizes of a range count up by this: `2..6` with step 2 is 2, 4 or 6.",
	},
	{
		name: "count", shape: number{1, maxTeams, true}, initial: "1",
		about: "So many teams of this kind. With 2 or more, their names are `NAME-1`, `NAME-2` and so on.",
	},
	{
		name: "roles", shape: dict{roleName, either{number{1, maxPlayers, true}, playerRange}, 0, maxRoles},
		initial: "none",
		about: "The number of players for each role, or a range. A player takes a role that the attribute `role` " +
			"has, a text or a list in " +
			"order of preference. The others have none.",
	},
	{name: "allow_split", shape: truth{}, initial: "false", about: "A party may be split over teams with this key."},
}}

var preferShape = object{what: "a preference", fields: []field{
	{
		name: "rule", shape: innerRule{}, required: true,
		about: "A rule of any kind, without `widen`. `missing` is `pass`, or a value: a preference excludes no " +
			"ticket.",
	},
	{name: "weight", shape: number{0.001, 1e6, false}, initial: "1", about: "What it weighs beside the others."},
}}

var fewerShape = object{what: "a step of fewer", fields: []field{
	{name: "after", shape: waiting, required: true, about: "The waiting time from which it holds. Ascending."},
	{
		name:     "players",
		shape:    either{number{1, maxPlayers, true}, dict{teamName, number{1, maxPlayers, true}, 1, maxTeams}},
		required: true,
		about:    "The least number of players of every team, or of some: `{red: 4}`.",
	},
}}

// waiting is how long a ticket has waited.
var waiting = length{time.Millisecond, maxWait}

var batchShape = object{what: "batch", fields: []field{
	{name: "by", shape: attributeName, required: true, about: "Neighbours by this number are tried first."},
	{
		name: "for", shape: length{time.Second, time.Hour}, initial: "30s",
		about: "Tickets that have waited for longer are tried first, the oldest before the others.",
	},
}}

var priorityShape = object{what: "priority", fields: []field{
	{
		name: "by", shape: attributeName, required: true,
		about: "A number of seconds: a ticket takes its turn as if it had waited for so much longer. Of a party the " +
			"least counts, and players without the number have 0.",
	},
	{
		name: "up_to", shape: length{time.Second, time.Hour}, required: true,
		about: "The most that counts. No ticket is overtaken by one that arrives later than this after it.",
	},
}}

var orderShape = object{what: "a criterion of order", fields: []field{
	{name: "distance", shape: attributeName, about: "The nearest by this number first."},
	{name: "value", shape: attributeName, about: "The lowest number first."},
	{name: "descending", shape: truth{}, initial: "false", about: "The farthest, or the highest, first."},
}}

var joinShape = object{what: "join_in_progress", fields: []field{
	{name: "when", shape: joinWords, required: true, about: "See above."},
	{
		name: "within", shape: length{time.Second, maxWait}, initial: "any age",
		about: "The age of a session up to which newcomers join.",
	},
}}

var acceptShape = object{what: "accept", fields: []field{
	{
		name: "within", shape: length{time.Second, 45 * time.Second}, required: true,
		about: "How long players have to accept. It must be at least 10s less than `DIRECTOR_OM_PENDING_FOR`.",
	},
}}

var functionShape = object{what: "function", fields: []field{
	{
		name: "host", shape: hostName, required: true,
		about: "The host of the match function. The setting `DIRECTOR_OM_FUNCTIONS` of the workers must allow it.",
	},
	{name: "port", shape: number{1, 65535, true}, required: true, about: "Its port."},
	{name: "type", shape: functionWords, initial: "grpc", about: "Its protocol."},
	{
		name: "every", shape: length{100 * time.Millisecond, time.Hour}, initial: "1s",
		about: "The shortest time between two calls.",
	},
}}
