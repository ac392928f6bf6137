package profile

import (
	"fmt"
	"regexp"
	"time"
)

// ruleShape is the shape of a kind of rule.
type ruleShape struct {
	kind  RuleKind
	name  string // the key that makes a rule one of this kind
	value shape  // the value of that key
	about string
	own   []field // the keys of this kind
	steps []field // what a step of widen may name
	// add and until are of linear widening; nil where there is no single limit to widen.
	add, until shape
}

// anyLimit ends a rule.
const anyLimit = literal("any")

var (
	distance = number{0, highest, false}
	sizes    = number{0, maxPlayers, true}
	latency  = length{time.Millisecond, 10 * time.Second}
	anything = number{lowest, highest, false}
)

// ticketAttribute names an attribute of tickets, in place of a limit.
var ticketAttribute = text{regexp.MustCompile(`^ticket\.[^\x00-\x1F\x7F]{1,64}$`), "ticket. and the name of an " +
	"attribute"}

// ruleShapes are the kinds of rules, in the order of the reference.
var ruleShapes = []ruleShape{
	{
		kind: Near, name: "near", value: attributeName,
		about: "The greatest and the least number of the players differ by at most `within`.",
		own: []field{
			{
				name: "within", shape: either{distance, ticketAttribute}, required: true,
				about: "The greatest difference, or `ticket.NAME`: of two players, the smaller number NAME that " +
					"their tickets have. Both sides accept it.",
			},
			{name: "up_to", shape: distance, initial: "none; required with `ticket.NAME`",
				about: "The greatest number NAME that a ticket may have, and that of tickets without one."}, per,
			{
				name: "from", shape: literal("mean"), initial: "the least",
				about: "`mean`: every number is within `within` of the mean.",
			},
			byRole, role, missing, partyNumbers,
		},
		steps: []field{{name: "within", shape: either{distance, anyLimit}, about: "The new limit."}}, add: distance,
		until: distance,
	},
	{
		kind: Balance, name: "balance", value: attributeName, about: "The values of the teams differ by at most `within`.",
		own: []field{
			{name: "within", shape: distance, required: true, about: "The greatest difference."},
			{name: "teams", shape: balanceWords, initial: "mean",
				about: "The value of a team, of the numbers of its players."},
			byRole, role, missing, partyNumbers,
		},
		steps: []field{{name: "within", shape: either{distance, anyLimit}, about: "The new limit."}}, add: distance,
		until: distance,
	},
	{
		kind: Sizes, name: "sizes", value: sizes, about: "The sizes of the teams differ by at most this.",
		steps: []field{{name: "sizes", shape: either{sizes, anyLimit}, about: "The new limit."}}, add: sizes,
		until: sizes,
	},
	{
		kind: PartySizes, name: "party_sizes", value: sizes,
		about: "The largest parties of the teams differ in size by at most this.",
		steps: []field{{name: "party_sizes", shape: either{sizes, anyLimit}, about: "The new limit."}}, add: sizes,
		until: sizes,
	},
	{
		kind: Comparison, name: "compare", value: measureShape,
		about: "A number of the match, or of a team, compares with another as `is` says.",
		own: []field{
			{name: "is", shape: operatorWords, required: true, about: "The comparison."},
			{name: "to", shape: either{anything, measureShape}, required: true, about: "A number, or another measure."},
			role, missing, partyNumbers,
		},
		steps: []field{{name: "to", shape: either{anything, anyLimit}, about: "The new number."}}, add: anything,
		until: anything,
	},
	{
		kind: Same, name: "same", value: attributeName, about: "All players have the same text or number.",
		own: []field{per, role, missing}, steps: ends("same"),
	},
	{
		kind: Different, name: "different", value: attributeName, about: "No two players have the same text or number.",
		own: []field{per, role, missing}, steps: ends("different"),
	},
	{
		kind: Common, name: "common", value: attributeName,
		about: "Some values are in the lists of all players. One of them is chosen for the game server: the one that " +
			"is nearest to the " +
			"beginning of the lists, by the sum of its positions.",
		own: []field{
			{name: "at_least", shape: number{1, 64, true}, initial: "1", about: "So many values are in every list."},
			role, missing,
			{
				name: "party", shape: words{"intersect", "union"}, initial: "intersect",
				about: "How the lists of a party become one.",
			},
		},
		steps: []field{{name: "at_least", shape: either{number{1, 64, true}, anyLimit}, about: "The new limit."}},
		add:   number{-64, -1, true}, until: number{1, 64, true},
	},
	{
		kind: Count, name: "count", value: attributeName,
		about: "So many players have one of the values of `any_of`, as a text or in a list. At least one of `min` " +
			"and `max` is required.",
		own: []field{
			{name: "any_of", shape: list{element: label(256), min: 1, max: 64, distinct: true}, required: true,
				about: "The values."},
			{name: "min", shape: sizes, initial: "0", about: "The least number of players."},
			{name: "max", shape: sizes, initial: "any number", about: "The greatest number of players."}, per, role,
			missing,
		},
		steps: []field{
			{name: "min", shape: sizes, about: "The new least number."},
			{name: "max", shape: either{sizes, anyLimit}, about: "The new greatest number; `any`: no limit."},
			ends("count")[0],
		},
	},
	{
		kind: Latency, name: "latency", value: latency,
		about: "There is a game region in which the greatest latency of the players is at most this. A region that a " +
			"player did not measure is " +
			"not eligible. The match takes the region with the least of them. A ticket without latencies waits until " +
			"the rule has ended, and is no " +
			"candidate if it never does, unless `missing` says otherwise.",
		own: []field{
			{
				name: "take", shape: words{"max", "mean"}, initial: "max",
				about: "`mean`: the mean of the players' latencies counts.",
			},
			{
				name: "spread", shape: latency, initial: "any",
				about: "The greatest difference between the latencies of two players.",
			},
		},
		steps: []field{
			{name: "latency", shape: either{anyLimit, latency}, about: "The new limit."},
			{name: "spread", shape: either{anyLimit, latency}, about: "The new spread; `any`: no limit."},
		},
		add: latency, until: latency,
	},
	{
		kind: Avoid, name: "avoid", value: attributeName,
		about: "No player is in the list of another, which has the `sub` of players.",
		own: []field{
			{name: "per", shape: words{"match", "team"}, initial: "match", about: "`team`: players of different teams " +
				"may be in each other's list."},
			role,
			{name: "missing", shape: value, initial: "pass", about: missing.about},
		},
		steps: ends("avoid"),
	},
	{kind: Or, name: "or", value: ruleList{maxRules: 8}, about: "At least one of 1 to 8 rules holds.",
		steps: ends("or")},
	{kind: And, name: "and", value: ruleList{maxRules: 8}, about: "All of 1 to 8 rules hold.", steps: ends("and")},
	{kind: Not, name: "not", value: innerRule{}, about: "The rule within does not hold. It has no `widen`.", steps: ends("not")},
}

// Keys that several kinds of rules have.
var (
	per = field{name: "per", shape: words{"match", "team"}, initial: "match", about: "`team`: it holds in each team " +
		"on its own."}
	role = field{name: "role", shape: roleName, initial: "all players",
		about: "Only players who fill this role count."}
	missing = field{
		name: "missing", shape: value, initial: "fail",
		about: "About players without the attribute. `fail`: their ticket is no candidate. `pass`: the rule leaves " +
			"them out. Any other value stands in for theirs.",
	}
	byRole = field{
		name: "by_role", shape: dict{roleName, attributeName, 1, maxRoles}, initial: "none",
		about: "A rating per role: the numbers that count for players who fill a role, such as `{tank: skill_tank, " +
			"healer: skill_healer}`. " +
			"Players in other roles, or in none, count with the attribute itself. Without the number of a role, a " +
			"player does not get the role, unless `missing` says otherwise.",
	}
	partyNumbers = field{
		name: "party", shape: words{"each", "min", "max", "mean"}, initial: "each",
		about: "How the numbers of a party become one, before anything else: `each` leaves them as they are.",
	}
)

// ruleID is made once: a regular expression takes longer to compile than all else of a profile to read.
var ruleID = label(maxID)

// commonFields are the keys of every rule.
func commonFields(s ruleShape) []field {
	steps := shape(list{element: object{what: "a step", fields: append([]field{
		{name: "after", shape: waiting, required: true, about: "The waiting time from which it holds."},
	}, s.steps...)}, max: maxSteps})
	if s.add != nil {
		steps = either{steps, object{what: "linear widening", fields: []field{
			{name: "every", shape: length{time.Millisecond, time.Hour}, required: true,
				about: "The time between two steps."},
			{name: "add", shape: s.add, required: true, about: "What a step adds to the limit."},
			{name: "until", shape: s.until, required: true, about: "The last limit."},
		}}}
	}
	return []field{
		{
			name: "id", shape: ruleID, initial: "the kind and the attribute, such as near-skill",
			about: "Names the rule in explanations. Unique in the profile.",
		},
		{name: "age", shape: ageWords, initial: "the profile's",
			about: "The ticket whose waiting time decides the step."},
		{
			name: "widen", shape: steps, initial: "none",
			about: fmt.Sprintf("Wider limits for tickets that have waited: at most %d steps, `after` ascending, or linear.", maxSteps),
		},
	}
}

// ends is the key of a step that ends a rule without a limit.
func ends(kind string) []field {
	return []field{{name: kind, shape: anyLimit, about: "`any`: the rule holds from then on."}}
}

var measureShape = object{what: "a measure", fields: []field{
	{
		name: "take", shape: takeWords, initial: "each",
		about: "What is taken of the players' numbers. `each`: the comparison holds for every player; `count`: the " +
			"number of players.",
	},
	{name: "of", shape: attributeName, about: "The attribute. With `count`: only players who have it count."},
	{name: "in", shape: teamName, initial: "match", about: "`match`, or the name of a team."},
	byRole,
}}
