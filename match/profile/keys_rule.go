package profile

import (
	"fmt"
	"regexp"
	"time"
)

// ruleShape is the shape of a kind of rule.
type ruleShape struct {
	kind       RuleKind
	kindKey    string // the key that makes a rule one of this kind
	value      shape  // the value of that key
	aboutText  string
	ownFields  []field // the keys of this kind
	stepFields []field // what a step of widen may name
	// add and until are of linear widening; nil where there is no single limit to widen.
	add, until shape
}

// anyLimit ends a rule.
const anyLimit = literal("any")

var (
	distance = number{0, highest, false}
	sizes    = number{0, maxPlayers, true}
	// As far as the latencies of tickets go: see match.MaxLatency.
	latency  = length{time.Millisecond, 10 * time.Second}
	anything = number{lowest, highest, false}
)

// ticketAttribute names an attribute of tickets, in place of a limit.
var ticketAttribute = text{regexp.MustCompile(`^ticket\.[^\x00-\x1F\x7F]{1,64}$`), "ticket. and the name of an " +
	"attribute"}

// ruleShapes are the kinds of rules, in the order of the reference.
var ruleShapes = []ruleShape{
	{
		kind: Near, kindKey: "near", value: attributeName,
		aboutText: "The greatest and the least number of the players differ by at most `within`.",
		ownFields: []field{
			{
				keyName: "within", valueShape: either{distance, ticketAttribute}, isRequired: true,
				aboutText: "The greatest difference, or `ticket.NAME`: of two players, the smaller number NAME that " +
					"their tickets have. Both sides accept it.",
			},
			{keyName: "up_to", valueShape: distance, initialText: "none; required with `ticket.NAME`",
				aboutText: "The greatest number NAME that a ticket may have, and that of tickets without one."}, per,
			{
				keyName: "from", valueShape: literal("mean"), initialText: "the least",
				aboutText: "`mean`: every number is within `within` of the mean.",
			},
			byRole, role, missing, partyNumbers,
		},
		stepFields: []field{{keyName: "within", valueShape: either{distance, anyLimit}, aboutText: "The new limit."}},
		add:        distance,
		until:      distance,
	},
	{
		kind: Balance, kindKey: "balance", value: attributeName, aboutText: "The values of the teams differ by at most `within`.",
		ownFields: []field{
			{keyName: "within", valueShape: distance, isRequired: true, aboutText: "The greatest difference."},
			{keyName: "teams", valueShape: balanceWords, initialText: "mean",
				aboutText: "The value of a team, of the numbers of its players."},
			byRole, role, missing, partyNumbers,
		},
		stepFields: []field{{keyName: "within", valueShape: either{distance, anyLimit}, aboutText: "The new limit."}},
		add:        distance,
		until:      distance,
	},
	{
		kind: Sizes, kindKey: "sizes", value: sizes, aboutText: "The sizes of the teams differ by at most this.",
		stepFields: []field{{keyName: "sizes", valueShape: either{sizes, anyLimit}, aboutText: "The new limit."}},
		add:        sizes,
		until:      sizes,
	},
	{
		kind: PartySizes, kindKey: "party_sizes", value: sizes,
		aboutText:  "The largest parties of the teams differ in size by at most this.",
		stepFields: []field{{keyName: "party_sizes", valueShape: either{sizes, anyLimit}, aboutText: "The new limit."}},
		add:        sizes,
		until:      sizes,
	},
	{
		kind: Comparison, kindKey: "compare", value: measureShape,
		aboutText: "A number of the match, or of a team, compares with another as `is` says.",
		ownFields: []field{
			{keyName: "is", valueShape: operatorWords, isRequired: true, aboutText: "The comparison."},
			{keyName: "to", valueShape: either{anything, measureShape}, isRequired: true,
				aboutText: "A number, or another measure."},
			role, missing, partyNumbers,
		},
		stepFields: []field{{keyName: "to", valueShape: either{anything, anyLimit}, aboutText: "The new number."}},
		add:        anything,
		until:      anything,
	},
	{
		kind: Same, kindKey: "same", value: attributeName, aboutText: "All players have the same text or number.",
		ownFields: []field{per, role, missing}, stepFields: endFields("same"),
	},
	{
		kind: Different, kindKey: "different", value: attributeName,
		aboutText: "No two players have the same text or number.",
		ownFields: []field{per, role, missing}, stepFields: endFields("different"),
	},
	{
		kind: Common, kindKey: "common", value: attributeName,
		aboutText: "Some values are in the lists of all players. One of them is chosen for the game server: the one that " +
			"is nearest to the " +
			"beginning of the lists, by the sum of its positions.",
		ownFields: []field{
			{keyName: "at_least", valueShape: number{1, 64, true}, initialText: "1",
				aboutText: "So many values are in every list."},
			role, missing,
			{
				keyName: "party", valueShape: words{"intersect", "union"}, initialText: "intersect",
				aboutText: "How the lists of a party become one.",
			},
		},
		stepFields: []field{{keyName: "at_least", valueShape: either{number{1, 64, true}, anyLimit},
			aboutText: "The new limit."}},
		// Fewer values in common are easier to have: the limit goes down.
		add: number{-64, -1, true}, until: number{1, 64, true},
	},
	{
		kind: Count, kindKey: "count", value: attributeName,
		aboutText: "So many players have one of the values of `any_of`, as a text or in a list. At least one of `min` " +
			"and `max` is required.",
		ownFields: []field{
			{keyName: "any_of", valueShape: list{elementShape: labelText(256), minItems: 1, maxItems: 64,
				isDistinct: true}, isRequired: true,
				aboutText: "The values."},
			{keyName: "min", valueShape: sizes, initialText: "0", aboutText: "The least number of players."},
			{keyName: "max", valueShape: sizes, initialText: "any number",
				aboutText: "The greatest number of players."}, per, role,
			missing,
		},
		stepFields: []field{
			{keyName: "min", valueShape: sizes, aboutText: "The new least number."},
			{keyName: "max", valueShape: either{sizes, anyLimit}, aboutText: "The new greatest number; `any`: no limit."},
			endFields("count")[0],
		},
	},
	{
		kind: Latency, kindKey: "latency", value: latency,
		aboutText: "There is a game region in which the greatest latency of the players is at most this. A region that a " +
			"player did not measure is " +
			"not eligible. The match takes the region with the least of them. A ticket without latencies waits until " +
			"the rule has ended, and is no " +
			"candidate if it never does. A preference leaves it out.",
		ownFields: []field{
			{
				keyName: "take", valueShape: words{"max", "mean"}, initialText: "max",
				aboutText: "`mean`: the mean of the players' latencies counts.",
			},
			{
				keyName: "spread", valueShape: latency, initialText: "any",
				aboutText: "The greatest difference between the latencies of two players.",
			},
		},
		stepFields: []field{
			// any comes first: the first shape that takes a text checks it, and a duration takes every text.
			{keyName: "latency", valueShape: either{anyLimit, latency}, aboutText: "The new limit."},
			{keyName: "spread", valueShape: either{anyLimit, latency}, aboutText: "The new spread; `any`: no limit."},
		},
		add: latency, until: latency,
	},
	{
		kind: Avoid, kindKey: "avoid", value: attributeName,
		aboutText: "No player is in the list of another, which has the `sub` of players.",
		ownFields: []field{
			{keyName: "per", valueShape: words{"match", "team"}, initialText: "match", aboutText: "`team`: players of different teams " +
				"may be in each other's list."},
			role,
			// A key of its own, for its default: players without a list avoid nobody, and none must name anybody.
			{keyName: "missing", valueShape: value, initialText: "pass", aboutText: missing.aboutText},
		},
		stepFields: endFields("avoid"),
	},
	{kind: Or, kindKey: "or", value: ruleList{maxRules: 8}, aboutText: "At least one of 1 to 8 rules holds.",
		stepFields: endFields("or")},
	{kind: And, kindKey: "and", value: ruleList{maxRules: 8}, aboutText: "All of 1 to 8 rules hold.",
		stepFields: endFields("and")},
	{kind: Not, kindKey: "not", value: innerRule{}, aboutText: "The rule within does not hold. It has no `widen`.", stepFields: endFields("not")},
}

// Keys that several kinds of rules have.
var (
	per = field{keyName: "per", valueShape: words{"match", "team"}, initialText: "match", aboutText: "`team`: it holds in each team " +
		"on its own."}
	role = field{keyName: "role", valueShape: roleName, initialText: "all players",
		aboutText: "Only players who fill this role count."}
	missing = field{
		keyName: "missing", valueShape: value, initialText: "fail",
		aboutText: "About players without the attribute. `fail`: their ticket is no candidate. `pass`: the rule leaves " +
			"them out. Any other value stands in for theirs.",
	}
	byRole = field{
		keyName: "by_role", valueShape: dict{roleName, attributeName, 1, maxRoles}, initialText: "none",
		aboutText: "A rating per role: the numbers that count for players who fill a role, such as `{tank: skill_tank, " +
			"healer: skill_healer}`. " +
			"Players in other roles, or in none, count with the attribute itself. Without the number of a role, a " +
			"player does not get the role, unless `missing` says otherwise.",
	}
	partyNumbers = field{
		keyName: "party", valueShape: words{"each", "min", "max", "mean"}, initialText: "each",
		aboutText: "How the numbers of a party become one, before anything else: `each` leaves them as they are.",
	}
)

// commonFields are the keys of every rule.
func commonFields(s ruleShape) []field {
	steps := shape(list{elementShape: object{whatText: "a step", keyFields: append([]field{
		{keyName: "after", valueShape: waiting, isRequired: true, aboutText: "The waiting time from which it holds."},
	}, s.stepFields...)}, maxItems: maxSteps})
	if s.add != nil {
		steps = either{steps, object{whatText: "linear widening", keyFields: []field{
			{keyName: "every", valueShape: length{time.Millisecond, time.Hour}, isRequired: true,
				aboutText: "The time between two steps."},
			{keyName: "add", valueShape: s.add, isRequired: true, aboutText: "What a step adds to the limit."},
			{keyName: "until", valueShape: s.until, isRequired: true, aboutText: "The last limit."},
		}}}
	}
	return []field{
		{
			keyName: "id", valueShape: ruleID, initialText: "the kind and the attribute, such as near-skill",
			aboutText: "Names the rule in explanations. Unique in the profile.",
		},
		{keyName: "age", valueShape: ageWords, initialText: "the profile's",
			aboutText: "The ticket whose waiting time decides the step."},
		{
			keyName: "widen", valueShape: steps, initialText: "none",
			aboutText: fmt.Sprintf("Wider limits for tickets that have waited: at most %d steps, `after` ascending, or linear.", maxSteps),
		},
	}
}

// endFields is the key of a step that ends a rule without a limit.
func endFields(kind string) []field {
	return []field{{keyName: kind, valueShape: anyLimit, aboutText: "`any`: the rule holds from then on."}}
}

var measureShape = object{whatText: "a measure", keyFields: []field{
	{
		keyName: "take", valueShape: takeWords, initialText: "each",
		aboutText: "What is taken of the players' numbers. `each`: the comparison holds for every player; `count`: the " +
			"number of players.",
	},
	{keyName: "of", valueShape: attributeName, aboutText: "The attribute. With `count`: only players who have it count."},
	{keyName: "in", valueShape: teamName, initialText: "match", aboutText: "`match`, or the name of a team."},
	byRole,
}}
