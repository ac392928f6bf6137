package profile

import (
	"regexp"
	"strings"
	"time"
)

// players is a number of players, a range of it, or one that shrinks.
var (
	players   = either{number{1, maxPlayers, true}, playerRange, fillShape}
	fillShape = object{whatText: "a team to fill", keyFields: []field{
		{
			keyName: "fill", valueShape: number{2, maxPlayers, true}, isRequired: true,
			aboutText: "The number of players that the team has at first, and at most.",
		},
		{keyName: "for", valueShape: waiting, isRequired: true,
			aboutText: "The waiting time from which fewer are enough."},
		{keyName: "then", valueShape: number{1, maxPlayers, true}, isRequired: true,
			aboutText: "The least number of players from then on."},
	}}
)

// documentShape is the shape of a profile.
var documentShape = object{whatText: "a profile", keyFields: []field{
	{keyName: "name", valueShape: profileName, isRequired: true, aboutText: "The name that tickets and operators use."},
	{
		keyName: "mode", valueShape: either{modeName,
			list{elementShape: modeName, minItems: 1, maxItems: maxModes, isDistinct: true}},
		initialText: "no mode: a match without seats",
		aboutText: "The mode of its sessions. Of a list, a match takes the first mode that all its tickets allow and " +
			"that has room.",
	},
	{
		keyName: "pool", valueShape: poolShape, initialText: "only tickets that name the profile",
		aboutText: "The tickets that are candidates, by the filters of Open Match. Tickets that name the profile must be " +
			"in it as well. " +
			"Those that name no profile are candidates if they are in it.",
	},
	{
		keyName: "attributes", valueShape: dict{attributeName, attributeShape, 0, maxAttributes}, initialText: "none",
		aboutText: "The types of attributes. A ticket that names the profile is refused if an attribute has another " +
			"type, or is missing and has no default.",
	},
	{
		keyName: "teams", valueShape: list{elementShape: teamShape, minItems: 1, maxItems: maxTeams},
		aboutText: "The teams of a match. One team is a free-for-all. Required, unless `function` decides.",
	},
	{
		keyName: "rules", valueShape: ruleList{maxRules: maxRules}, initialText: "none",
		aboutText: "What must hold for the players of a match. All rules must hold.",
	},
	{
		keyName: "prefer", valueShape: list{elementShape: preferShape, maxItems: maxPrefer}, initialText: "none",
		aboutText: "Rules that a match should satisfy, and need not. Of the matches that the search finds, it makes one " +
			"whose satisfied preferences weigh most, in sum. " +
			"No match is missed or delayed for them.",
	},
	{
		keyName: "fewer", valueShape: list{elementShape: fewerShape, maxItems: maxSteps}, initialText: "none",
		aboutText: "Smaller teams for tickets that have waited.",
	},
	{
		keyName: "fill", valueShape: fillBots, initialText: "never",
		aboutText: "The waiting time from which bots fill the teams, such as `bots after 45s`: then a team may have no player, " +
			"or those that its roles need, and a match one. The game server reads in the roster how many bots each team " +
			"needs to have its least number of players; rules do not count bots.",
	},
	{
		keyName: "autofill", valueShape: waiting, initialText: "never",
		aboutText: "The waiting time from which the players of a ticket take any role: first those of their attribute " +
			"`role`, then the others.",
	},
	{
		keyName: "age", valueShape: ageWords, initialText: "oldest",
		aboutText: "The ticket of a match whose waiting time decides the steps: the `oldest`, the `youngest`, the `mean` " +
			"of all, or `each`: " +
			"of two tickets, the stricter of their steps.",
	},
	{
		keyName: "trade", valueShape: tradeShape, initialText: "none: a match is made as soon as the rules allow it",
		aboutText: "What a second of waiting is worth: `skill: 10 per second` means that a second is worth 10 points of " +
			"skill. A match is made when its players have waited, " +
			"in sum, for as long as it costs them, and at the latest when its oldest ticket has waited for nine " +
			"tenths of `ttl`. A player pays for each attribute the " +
			"distance from the mean of the match; for `latency` (`5ms per second`) what the game region is slower " +
			"than the player's best one; for `balance` the " +
			"distance of the team from the mean of the teams.",
	},
	{
		keyName: "batch", valueShape: either{literal("oldest"), batchShape}, initialText: "oldest",
		aboutText: "The tickets that are tried first: the `oldest`, or neighbours by a number.",
	},
	{
		keyName: "priority", valueShape: priorityShape, initialText: "none: who came first is first",
		aboutText: "Tickets that take their turn earlier, such as those of players whose last match was broken off. " +
			"Rules, steps and `trade` count their real waiting time.",
	},
	{
		keyName: "order", valueShape: list{elementShape: orderShape, maxItems: 8}, initialText: "by age",
		aboutText: "The order in which a ticket prefers others. Age decides between equals.",
	},
	{
		keyName: "join_in_progress", valueShape: either{joinWords, joinShape}, initialText: "never",
		aboutText: "Whether newcomers join matches that are playing: `never`, `allow` (after whole matches) or `prefer` " +
			"(before whole matches).",
	},
	{
		keyName: "accept", valueShape: acceptShape, initialText: "players are not asked",
		aboutText: "A ready check: every player must accept the match.",
	},
	{
		keyName: "latency_jump", valueShape: latency, initialText: "none: latencies count as the client says",
		aboutText: "How far a latency may be from the one that counted for the player within the last day; what is beyond " +
			"counts as that limit. The latency that is compared changes at most once an hour. Of a party, each may be between " +
			"its players' latencies, give or take the jump. Of several profiles that a ticket names, the least counts. " +
			"Latencies that a backend sends count as they are.",
	},
	{
		keyName: "ttl", valueShape: length{10 * time.Second, maxWait}, initialText: "10m",
		aboutText: "How long a ticket waits before it expires.",
	},
	{keyName: "data", valueShape: anyJSON{maxData}, initialText: "none",
		aboutText: "Data for the game server, at most 4 KiB as JSON."},
	{
		keyName: "tell", valueShape: list{elementShape: attributeName, maxItems: maxAttributes, isDistinct: true},
		initialText: "those of the rules, except `avoid`",
		aboutText:   "The attributes that game servers read in the roster, at most 256 bytes a player.",
	},
	{
		// As many as a decision considers: match/decide has a bit for each in one word.
		keyName: "regions", valueShape: list{elementShape: regionName, maxItems: 64, isDistinct: true},
		initialText: "none",
		aboutText: "Game regions in order of preference, for matches whose tickets have no latencies. " +
			"While no game server offers the profile's modes, matches wait for one in these regions.",
	},
	{
		keyName: "function", valueShape: functionShape, initialText: "none",
		aboutText: "A match function of Open Match that decides instead of teams and rules.",
	},
}}

var poolShape = object{whatText: "a pool", keyFields: []field{
	{
		keyName: "tags", valueShape: list{elementShape: labelText(256), maxItems: 64, isDistinct: true},
		initialText: "none",
		aboutText:   "Tags that a ticket must have.",
	},
	{
		keyName:     "strings",
		valueShape:  dict{labelText(256), text{regexp.MustCompile(`^[^\x00]{0,256}$`), "text of at most 256 characters"}, 0, 64},
		initialText: "none",
		aboutText:   "string_args that a ticket must have, with their values.",
	},
	{
		keyName: "doubles", valueShape: dict{labelText(256), doubleShape, 0, 64}, initialText: "none",
		aboutText: "double_args that a ticket must have, with their ranges.",
	},
}}

var doubleShape = object{whatText: "a range", keyFields: []field{
	{keyName: "min", valueShape: number{lowest, highest, false}, initialText: "none", aboutText: "The lowest value."},
	{keyName: "max", valueShape: number{lowest, highest, false}, initialText: "none", aboutText: "The highest value."},
	{keyName: "exclude", valueShape: excludeWords, initialText: "none",
		aboutText: "The ends of the range that are excluded."},
}}

var attributeShape = object{whatText: "an attribute", keyFields: []field{
	{keyName: "type", valueShape: typeWords, isRequired: true, aboutText: "The type of its values."},
	{
		keyName: "default", valueShape: value, initialText: "none: a ticket must have the attribute",
		aboutText: "The value for players without the attribute.",
	},
	{
		keyName: "from", valueShape: sourceWords, initialText: "client",
		aboutText: "Who must vouch for the value: the player's `client`, on its word; a `claim` of its access token, which the " +
			"identity provider has signed; or a `backend` of the studio, which stores attributes of players and queues for " +
			"them. A backend's value is also enough for `claim`. A ticket with a value of a weaker source is refused.",
	},
	{
		keyName: "claim", valueShape: either{claimPath,
			list{elementShape: labelText(256), minItems: 1, maxItems: maxClaimPath}},
		initialText: "the name of the attribute",
		aboutText: "With `from: claim`, the claim that has the value. Dots lead into objects: `game.skill`. A list names each " +
			"step, for names with dots: `['https://studio.example/game', skill]`.",
	},
}}

var teamShape = object{whatText: "a team", keyFields: []field{
	{keyName: "name", valueShape: teamName, isRequired: true, aboutText: "The name of the team."},
	{keyName: "players", valueShape: players, isRequired: true, aboutText: "The number of its players, or a range such as `3..5`. " +
		"`{fill: 16, for: 20s, then: 4}` waits for 16, and begins with what is there, at least 4, after 20 seconds."},
	{
		keyName: "step", valueShape: number{1, maxPlayers, true}, initialText: "1",
		aboutText: "The sizes of a range count up by this: `2..6` with step 2 is 2, 4 or 6.",
	},
	{
		keyName: "count", valueShape: number{1, maxTeams, true}, initialText: "1",
		aboutText: "So many teams of this kind. With 2 or more, their names are `NAME-1`, `NAME-2` and so on.",
	},
	{
		keyName: "roles", valueShape: dict{roleName, either{number{1, maxPlayers, true}, playerRange}, 0, maxRoles},
		initialText: "none",
		aboutText: "The number of players for each role, or a range. A player takes a role that the attribute `role` " +
			"has, a text or a list in " +
			"order of preference. The others have none.",
	},
	{keyName: "allow_split", valueShape: truth{}, initialText: "false",
		aboutText: "A party may be split over teams with this key."},
}}

var preferShape = object{whatText: "a preference", keyFields: []field{
	{
		keyName: "rule", valueShape: innerRule{}, isRequired: true,
		aboutText: "A rule of any kind, without `widen`. `missing` is `pass`, or a value: a preference excludes no " +
			"ticket.",
	},
	{keyName: "weight", valueShape: number{0.001, 1e6, false}, initialText: "1",
		aboutText: "What it weighs beside the others."},
}}

var fewerShape = object{whatText: "a step of fewer", keyFields: []field{
	{keyName: "after", valueShape: waiting, isRequired: true,
		aboutText: "The waiting time from which it holds. Ascending."},
	{
		keyName:    "players",
		valueShape: either{number{1, maxPlayers, true}, dict{teamName, number{1, maxPlayers, true}, 1, maxTeams}},
		isRequired: true,
		aboutText:  "The least number of players of every team, or of some: `{red: 4}`.",
	},
}}

var batchShape = object{whatText: "batch", keyFields: []field{
	{keyName: "by", valueShape: attributeName, isRequired: true,
		aboutText: "Neighbours by this number are tried first."},
	{
		keyName: "for", valueShape: length{time.Second, time.Hour}, initialText: "30s",
		aboutText: "Tickets that have waited for longer are tried first, the oldest before the others.",
	},
}}

var priorityShape = object{whatText: "priority", keyFields: []field{
	{
		keyName: "by", valueShape: attributeName, isRequired: true,
		aboutText: "A number of seconds: a ticket takes its turn as if it had waited for so much longer. Of a party the " +
			"least counts, and players without the number have 0.",
	},
	{
		keyName: "up_to", valueShape: length{time.Second, time.Hour}, isRequired: true,
		aboutText: "The most that counts. No ticket is overtaken by one that arrives later than this after it.",
	},
}}

var orderShape = object{whatText: "a criterion of order", keyFields: []field{
	{keyName: "distance", valueShape: attributeName, aboutText: "The nearest by this number first."},
	{keyName: "value", valueShape: attributeName, aboutText: "The lowest number first."},
	{keyName: "descending", valueShape: truth{}, initialText: "false",
		aboutText: "The farthest, or the highest, first."},
}}

var joinShape = object{whatText: "join_in_progress", keyFields: []field{
	{keyName: "when", valueShape: joinWords, isRequired: true, aboutText: "See above."},
	{
		keyName: "within", valueShape: length{time.Second, maxWait}, initialText: "any age",
		aboutText: "The age of a session up to which newcomers join.",
	},
}}

var acceptShape = object{whatText: "accept", keyFields: []field{
	{
		keyName: "within", valueShape: length{time.Second, 45 * time.Second}, isRequired: true,
		aboutText: "How long players have to accept. It must be at least 10s less than `DIRECTOR_OM_PENDING_FOR`.",
	},
}}

var functionShape = object{whatText: "function", keyFields: []field{
	{
		keyName: "host", valueShape: hostName, isRequired: true,
		aboutText: "The host of the match function. The setting `DIRECTOR_OM_FUNCTIONS` of the workers must allow it.",
	},
	{keyName: "port", valueShape: number{1, 65535, true}, isRequired: true, aboutText: "Its port."},
	{keyName: "type", valueShape: functionWords, initialText: "grpc", aboutText: "Its protocol."},
	{
		keyName: "every", valueShape: length{100 * time.Millisecond, time.Hour}, initialText: "1s",
		aboutText: "The shortest time between two calls.",
	},
}}

// The least and the greatest rate.
const (
	minTrade = 0.001
	maxTrade = 1e9
)

var tradeRate = text{
	regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,9})?(ms)? per second$`),
	"how much a second is worth, such as 10 per second, or 5ms per second for latency",
}

var tradeShape = dict{attributeName, tradeRate, 1, 8}

// botsPrefix is what a document writes before the waiting time from which bots fill teams.
const botsPrefix = "bots after "

var fillBots = text{
	regexp.MustCompile(`^` + botsPrefix + strings.TrimPrefix(durationPattern, "^")),
	"bots after a waiting time, such as bots after 45s",
}
