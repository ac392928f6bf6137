package profile_test

import "strings"

// ranked is the profile of the documentation.
const ranked = `name: ranked-5v5
mode: arena
pool: {tags: [ranked]}
teams:
  - {name: red,  players: 5, roles: {tank: 1, healer: 1}}
  - {name: blue, players: 5, roles: {tank: 1, healer: 1}}
rules:
  - {near: skill, within: 100, widen: [{after: 10s, within: 200}, {after: 30s, within: any}]}
  - {balance: skill, teams: mean, within: 30}
  - {common: maps}
  - {latency: 60ms, widen: [{after: 15s, latency: 120ms}]}
  - {avoid: blocked}
fewer: [{after: 45s, players: 4}]
join_in_progress: prefer
accept: {within: 20s}
`

// accepted are documents that use every key.
var accepted = map[string]string{
	"ranked": ranked,
	"trade":  tradeable + "trade: {skill: 10 per second, latency: 5ms per second, balance: 0.50 per second}\n",
	"least":  "name: duel\nteams: [{name: all, players: 2}]\n",
	"sources": `name: vouched
attributes:
  skill: {type: number, from: claim, claim: game.skill}
  league: {type: string, from: claim, default: bronze}
  rank: {type: number, from: claim, claim: ["https://studio.example/game", rank]}
  blocked: {type: list, from: backend}
  maps: {type: list, from: client}
teams: [{name: all, players: 2}]
rules: [{near: skill, within: 100}, {same: league}, {near: rank, within: 5}, {avoid: blocked}, {common: maps}]
`,
	"json":  "{\n\t\"name\": \"duel\",\n\t\"teams\": [{\"name\": \"all\", \"players\": 2e0}],\n\t\"data\": {\"a\\/b\": \"\\u00e9\", \"n\": 1e3}\n}",
	"bom":   "\uFEFFname: duel\nteams: [{name: all, players: 2}]\n",
	"crlf":  "name: duel\r\nteams:\r\n  - name: all\r\n    players: 2\r\n",
	"alias": "name: duel\nteams:\n  - &t {name: red, players: 2, roles: &r {tank: 1}}\n  - {name: blue, players: 2, roles: *r}\n",
	"fill": `name: filled
teams: [{name: all, players: {fill: 16, for: 20s, then: 4}, step: 2}, {name: bots, players: {fill: 3, for: 10s, then: 1}, count: 2}]
`,
	"bots": `name: filled
teams: [{name: red, players: 4..6, step: 2, roles: {tank: 1}}, {name: blue, players: 3}]
fewer: [{after: 30s, players: {blue: 2}}]
fill: bots after 45s
`,
	"tolerance": "name: own\nteams: [{name: all, players: 2}]\nrules: [{near: skill, within: ticket.reach, up_to: 400, per: team, widen: [{after: 30s, within: any}]}]\n",
	"prefer": `name: preferred
teams: [{name: red, players: 2}, {name: blue, players: 2}]
rules: [{near: skill, within: 100, widen: [{after: 10s, within: any}]}]
prefer:
  - {rule: {near: skill, within: 20}, weight: 2.5}
  - {rule: {same: platform, missing: pc, id: platform}}
  - {rule: {or: [{common: maps, missing: pass}, {not: {avoid: blocked}}]}, weight: 0.5}
  - {rule: {latency: 30ms, age: youngest}}
`,
	"ratings": `name: rated
attributes: {skill_tank: {type: number, default: 1000}}
teams: [{name: red, players: 3, roles: {tank: 1, healer: 1}}, {name: blue, players: 3, roles: {tank: 1}}]
rules:
  - {near: skill, within: 100, by_role: {tank: skill_tank, healer: skill_healer}, party: mean, widen: [{after: 9s, within: any}]}
  - {balance: skill, within: 30, by_role: {tank: skill_tank}, missing: 900}
  - {compare: {take: sum, of: skill, in: red, by_role: {healer: skill_healer}}, is: "<", to: {take: sum, of: skill, by_role: {tank: skill_tank}}, missing: pass}
trade: {balance: 5 per second}
`,
	"autofill":   "name: roles\nteams: [{name: all, players: 4, roles: {tank: 1}}]\nautofill: 1m30s\n",
	"many teams": "name: royale\nteams: [{name: squad, players: 1..4, count: 64}]\n",
	"function": `{name: f, mode: [a, b], pool: {}, function: {host: mmf.internal, port: 50502, type: rest, every: 500ms}, accept: {within: 45s}, ttl: 24h,
regions: [eu, us], attributes: {skill: {type: number, default: 1000}}, tell: [skill]}`,
	"pool": `name: p
pool:
  tags: [b, a]
  strings: {mode: "", class: "mage"}
  doubles: {level: {min: 1, max: 5.5, exclude: max}, open: {}}
teams: [{name: all, players: 2..10, step: 2}]
join_in_progress: {when: allow, within: 10m}
batch: {by: skill, for: 1m}
priority: {by: ahead, up_to: 5m}
order: [{distance: skill}, {value: exp, descending: true}]
age: each
data: {motd: "<&>", levels: [1, 2.50, null, true], nested: {deep: [[]]}}
`,
	"rules": `name: all-kinds
attributes:
  role: {type: list}
  skill: {type: number, default: 1000}
  clan: {type: string}
  maps: {type: list, default: [dust]}
teams:
  - {name: hunters, players: 4..6, roles: {tank: 1..2, "two words": 1}, allow_split: true}
  - {name: monster, players: 1, count: 2}
rules:
  - {near: skill, within: 100.5, per: team, from: mean, role: tank, missing: 1000, party: max, widen: {every: 5s, add: 50, until: 600}, age: youngest, id: mine}
  - {near: exp, within: 1, missing: pass, widen: {every: 1s, add: 1, until: 201}}
  - {balance: skill, within: 10, teams: sum, party: mean}
  - {sizes: 3, widen: [{after: 5s, sizes: 4}, {after: 6s, sizes: any}]}
  - {party_sizes: 2, widen: {every: 1s, add: 1, until: 5}}
  - {compare: {take: mean, of: skill, in: hunters}, is: ">=", to: {take: max, of: skill, in: monster-1}, widen: [{after: 1m, to: any}]}
  - {compare: {take: count}, is: "<", to: 8, widen: [{after: 1m, to: 9}]}
  - {compare: {of: skill}, is: "=", to: 5, missing: fail, id: exact}
  - {same: clan, per: team, missing: none}
  - {different: clan, id: rivals, widen: [{after: 1.5s, different: any}]}
  - {common: maps, at_least: 3, party: union, widen: [{after: 1s, at_least: 2}]}
  - {count: role, any_of: [tank, healer], min: 1, widen: [{after: 1s, min: 0, max: any}, {after: 2s, count: any}]}
  - {count: clan, any_of: [a], max: 3, per: team, id: clan-a}
  - {latency: 60ms, take: mean, spread: 30ms, widen: [{after: 15s, latency: 120ms, spread: any}, {after: 1m, latency: any}]}
  - {avoid: blocked, per: team, missing: fail}
  - or: [{same: clan}, {and: [{near: skill, within: 3, widen: [{after: 1s, within: 5}]}, {not: {same: clan}}]}, {same: clan}]
fewer: [{after: 45s, players: {hunters: 3}}, {after: 90s, players: {hunters: 2}}]
`,
}

// tradeable begins a profile whose trade is on line 4.
const tradeable = "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 100}, {same: map}]\n"

// refused are documents with the beginning of the first problem.
var refused = map[string][2]string{
	"from a friend":         {duel("") + "attributes: {skill: {type: number, from: friend}}\n", `line 4, column 42: attributes.skill.from: "friend" is not allowed`},
	"claim of a client":     {duel("") + "attributes: {skill: {type: number, claim: skill}}\n", "line 4, column 43: attributes.skill.claim: claim has no meaning here"},
	"claim of a backend":    {duel("") + "attributes: {skill: {type: number, from: backend, claim: skill}}\n", "line 4, column 58: attributes.skill.claim: claim has no meaning here: it names the claim of from: claim, and from is backend"},
	"claim without a name":  {duel("") + "attributes: {skill: {type: number, from: claim, claim: game..skill}}\n", `line 4, column 56: attributes.skill.claim: "game..skill" is not allowed`},
	"claim of nothing":      {duel("") + "attributes: {skill: {type: number, from: claim, claim: []}}\n", "line 4, column 56: attributes.skill.claim: a list of 0 is not allowed"},
	"bots at once":          {"name: duel\nteams: [{name: all, players: 2}]\nfill: bots\n", `line 3, column 7: fill: "bots" is not allowed: it must be bots after a waiting time, such as bots after 45s`},
	"bots after no time":    {"name: duel\nteams: [{name: all, players: 2}]\nfill: bots after 0s\n", `line 3, column 7: fill: "0s" is not allowed: it must be a duration from 1ms to 24h`},
	"bots before fewer":     {"name: duel\nteams: [{name: all, players: 2}]\nfewer: [{after: 45s, players: 1}]\nfill: bots after 45s\n", `line 4, column 7: fill: "bots after 45s" is not allowed: bots fill teams after the last step of fewer, which is at 45s`},
	"bots of a function":    {"name: duel\nfunction: {host: f, port: 1}\nfill: bots after 45s\n", `line 3, column 1: fill: a profile with a function has no fill: the function decides`},
	"trade of nobody":       {tradeable + "trade: {level: 10 per second}\n", "line 4, column 9: trade.level: no rule compares the attribute level, and attributes does not declare it"},
	"trade of a text":       {tradeable + "attributes: {map: {type: string}}\ntrade: {map: 1 per second}\n", "line 5, column 9: trade.map: trade needs the type number, and attributes.map says string"},
	"trade of a list":       {tradeable + "attributes: {maps: {type: list}}\ntrade: {maps: 1 per second}\n", "line 5, column 9: trade.maps: trade needs the type number, and attributes.maps says list"},
	"trade for nothing":     {tradeable + "trade: {skill: 0 per second}\n", `line 4, column 16: trade.skill: "0 per second" is not allowed: a second must be worth from 0.001`},
	"trade below zero":      {tradeable + "trade: {skill: -5 per second}\n", `line 4, column 16: trade.skill: "-5 per second" is not allowed: it must be how much a second is worth`},
	"trade a minute":        {tradeable + "trade: {skill: 10 per minute}\n", `line 4, column 16: trade.skill: "10 per minute" is not allowed`},
	"trade as a number":     {tradeable + "trade: {skill: 10}\n", "line 4, column 16: trade.skill: 10 is not allowed"},
	"trade in points":       {tradeable + "trade: {latency: 5 per second}\n", `line 4, column 18: trade.latency: "5 per second" is not allowed: latency is traded in milliseconds`},
	"trade in ms":           {tradeable + "trade: {skill: 5ms per second}\n", `line 4, column 16: trade.skill: "5ms per second" is not allowed: only latency has milliseconds`},
	"trade of one team":     {"name: a\nteams: [{name: all, players: 2}]\nrules: [{near: skill, within: 1}]\ntrade: {balance: 5 per second}\n", "line 4, column 18: trade.balance: the balance of one team cannot be traded"},
	"trade of balance":      {"name: a\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\ntrade: {balance: 5 per second}\n", "line 3, column 18: trade.balance: which number is balanced is not known"},
	"trade in function":     {"name: a\nfunction: {host: f, port: 1}\ntrade: {latency: 5ms per second}\n", "line 3, column 1: trade: a profile with a function has no trade"},
	"empty trade":           {tradeable + "trade: {}\n", "line 4, column 8: trade: a mapping of 0 keys is not allowed"},
	"empty":                 {"", "line 1, column 1: the document is empty"},
	"comment":               {"# nothing\n", "line 1, column 1: the document is empty"},
	"list":                  {"[]", "line 1, column 1: a list is not allowed: it must be a mapping"},
	"no YAML":               {"name: [", "line 1, column 7: this is not YAML"},
	"no UTF-8":              {"name: a\nmode: \xff", "line 2, column 7: the document must be text in UTF-8"},
	"zero byte":             {"name: a\x00", "line 1, column 8: the document must not contain the NUL character"},
	"second document":       {"name: a\n---\nname: b\n", "line 3, column 1: this begins a second document"},
	"twice":                 {"name: a\nname: b\n", "line 2, column 1: "},
	"twice in JSON":         {"{\"name\": \"a\",\n \"name\": \"b\"}", `line 2, column 2: the key "name" is there twice`},
	"tag":                   {"name: !!str a\n", "line 1, column 7: a tag is not allowed"},
	"merge key":             {"name: a\n<<: {mode: b}\n", "line 2, column 1: a merge key is not allowed"},
	"unknown alias":         {"name: *a\n", "line 1, column 7: "},
	"unknown key":           {"name: a\nteams: [{name: a, players: 2}]\nrule: []\n", "line 3, column 1: rule: a profile has no such key: did you mean rules?"},
	"unknown rule":          {duel("{nearr: skill, within: 5}"), "line 3, column 10: rules[0].nearr: there is no rule of this kind: did you mean near?"},
	"no kind":               {duel("{within: 5}"), "line 3, column 9: rules[0]: a rule needs a kind"},
	"two kinds":             {duel("{near: a, same: b, within: 5}"), "line 3, column 9: rules[0]: this rule is both near and same"},
	"name":                  {"name: Ranked\nteams: [{name: a, players: 2}]\n", `line 1, column 7: name: "Ranked" is not allowed: it must be a name of 1 to 64 lowercase letters`},
	"name is a number":      {"name: 5\nteams: [{name: a, players: 2}]\n", "line 1, column 7: name: 5 is not allowed"},
	"reserved name":         {"name: schema\nteams: [{name: a, players: 2}]\n", "line 1, column 7: name: the name schema is not allowed"},
	"misspelt key":          {duel("{near: skill, wihtin: 5}"), "line 3, column 23: rules[0].wihtin: a rule of the kind \"near\" has no such key: did you mean within?"},
	"no name":               {"teams: [{name: a, players: 2}]\n", "line 1, column 1: a profile needs the key name"},
	"no teams":              {"name: a\n", "line 1, column 1: a profile needs the key teams, or function"},
	"both":                  {"name: a\nfunction: {host: h, port: 1}\nteams: [{name: a, players: 2}]\n", "line 3, column 1: teams: a profile with a function has no teams"},
	"no players":            {"name: a\nteams: [{name: a}]\n", "line 2, column 9: teams[0]: a team needs the key players"},
	"0 players":             {"name: a\nteams: [{name: a, players: 0}]\n", "line 2, column 28: teams[0].players: 0 is not allowed: it must be a whole number from 1 to 1024, or a range such as 3..5, or a mapping with the keys fill, for and then"},
	"half a player":         {"name: a\nteams: [{name: a, players: 1.5}]\n", "line 2, column 28: teams[0].players: 1.5 is not allowed"},
	"from 0":                {"name: a\nteams: [{name: a, players: 0..4}]\n", `line 2, column 28: teams[0].players: "0..4" is not allowed: a team has at least 1 player`},
	"backwards":             {"name: a\nteams: [{name: a, players: 5..3}]\n", `line 2, column 28: teams[0].players: "5..3" is not allowed: a range goes up`},
	"step":                  {"name: a\nteams: [{name: a, players: 2..5, step: 2}]\n", "line 2, column 28: teams[0].players: 2 to 5 in steps of 2 is not allowed"},
	"many teams":            {"name: a\nteams: [{name: a, players: 1, count: 60}, {name: b, players: 1, count: 5}]\n", "line 2, column 8: teams: 65 teams are too many"},
	"many players":          {"name: a\nteams: [{name: a, players: 513, count: 2}]\n", "line 2, column 8: teams: 1026 players are too many"},
	"same team":             {"name: a\nteams: [{name: a, players: 1}, {name: a, players: 1}]\n", `line 2, column 39: teams[1].name: a team "a" is not allowed`},
	"roles over players":    {"name: a\nteams: [{name: a, players: 2, roles: {tank: 1, healer: 2}}]\n", "line 2, column 38: teams[0].roles: the roles need 3 players, and the team may have 2"},
	"role over team":        {"name: a\nteams: [{name: a, players: 2, roles: {tank: 0..3}}]\n", "line 2, column 45: teams[0].roles.tank: 3 is not allowed: the team has at most 2 players"},
	"fewer ascending":       {duel2("fewer: [{after: 10s, players: 3}, {after: 10s, players: 2}]"), "line 3, column 43: fewer[1].after: 10s is not allowed: after ascends, and the step before is at 10s"},
	"fewer is more":         {duel2("fewer: [{after: 10s, players: 5}]"), "line 3, column 31: fewer[0].players: 5 is not allowed: team red has at least 4 players before this step"},
	"fewer than roles":      {duel2("fewer: [{after: 10s, players: 1}]"), "line 3, column 31: fewer[0].players: 1 is not allowed: the roles of team red need 2 players"},
	"fewer of nobody":       {duel2("fewer: [{after: 10s, players: {green: 1}}]"), "line 3, column 32: fewer[0].players.green: there is no team of this name: there are blue or red"},
	"empty range":           {duel("") + "pool: {doubles: {x: {min: 5, max: 5, exclude: min}}}\n", "line 4, column 21: pool.doubles.x: min and max are 5, which exclude leaves out: no ticket is in this range"},
	"roles are texts":       {duel2("attributes: {role: {type: number}}"), "line 3, column 20: attributes.role: the type number is not allowed: roles are texts"},
	"modes are texts":       {duel("") + "mode: arena\nattributes: {modes: {type: number}}\n", "line 5, column 21: attributes.modes: the type number is not allowed: modes are texts"},
	"fill grows":            {"name: a\nteams: [{name: a, players: {fill: 4, for: 20s, then: 16}}]\n", "line 2, column 54: teams[0].players.then: 16 is not allowed: team a has at least 4 players before this step"},
	"fill and fewer":        {"name: a\nteams: [{name: a, players: {fill: 4, for: 20s, then: 2}}]\nfewer: [{after: 5s, players: 3}]\n", "line 3, column 8: fewer: fewer is not allowed beside a team with fill"},
	"fill and roles":        {"name: a\nteams: [{name: a, players: {fill: 4, for: 20s, then: 2}, roles: {tank: 3}}]\n", "line 2, column 54: teams[0].players.then: 2 is not allowed: the roles of team a need 3 players"},
	"fill without end":      {"name: a\nteams: [{name: a, players: {fill: 4, then: 2}}]\n", "line 2, column 28: teams[0].players: a team to fill needs the key for"},
	"fill misspelt":         {"name: a\nteams: [{name: a, players: {fill: 4, for: 20s, then: 2, fil: 2}}]\n", "line 2, column 57: teams[0].players.fil: a team to fill has no such key: did you mean fill?"},
	"tolerance":             {duel("{near: a, within: ticket.t}"), "line 3, column 9: rules[0]: within ticket.t needs the key up_to"},
	"tolerance of all":      {duel("{near: a, within: 5, up_to: 6}"), "line 3, column 37: rules[0].up_to: up_to has no meaning here"},
	"tolerance of mean":     {duel("{near: a, within: ticket.t, up_to: 6, from: mean}"), "line 3, column 53: rules[0].from: from is not allowed with ticket.t"},
	"tolerance of age":      {duel("{near: a, within: ticket.t, up_to: 6, age: mean}"), "line 3, column 52: rules[0].age: only each is allowed with ticket.t"},
	"tolerance widens":      {duel("{near: a, within: ticket.t, up_to: 6, widen: [{after: 1s, within: 9}]}"), "line 3, column 54: rules[0].widen: only one step with within: any is allowed"},
	"tolerance of text":     {duel("{near: a, within: ticket.t, up_to: 6}, {common: t}"), "line 3, column 57: rules[1].common: common needs the type list, and within in line 3 needs number"},
	"tolerance of whom":     {duel("{near: a, within: player.t, up_to: 6}"), "line 3, column 27: rules[0].within: \"player.t\" is not allowed: it must be a number of 0 or more, or ticket. and the name of an attribute"},
	"rating of nobody":      {duel("{near: a, within: 5, by_role: {tank: b}}"), `line 3, column 40: rules[0].by_role.tank: no team has a role "tank"`},
	"rating of a text":      {duel2("rules: [{near: a, within: 5, by_role: {tank: b}}, {common: b}]"), "line 3, column 60: rules[1].common: common needs the type list, and by_role in line 3 needs number"},
	"rating of a list":      {duel2("rules: [{near: a, within: 5, by_role: {tank: [b]}}]"), "line 3, column 46: rules[0].by_role.tank: a list is not allowed"},
	"ratings of one":        {duel2("rules: [{near: a, within: 5, by_role: {tank: b}, role: tank}]"), "line 3, column 56: rules[0].role: role has no meaning beside by_role"},
	"rating of same":        {duel2("rules: [{same: a, by_role: {tank: b}}]"), `line 3, column 19: rules[0].by_role: a rule of the kind "same" has no such key`},
	"ratings of none":       {duel2("rules: [{near: a, within: 5, by_role: {}}]"), "line 3, column 39: rules[0].by_role: a mapping of 0 keys is not allowed"},
	"count missing: pass":   {duel("{compare: {take: count}, is: '<', to: 8, missing: pass}"), "line 3, column 59: rules[0].missing: missing has no meaning here: the rule has no attribute"},
	"count missing: fail":   {duel("{compare: {take: count, in: red}, is: '<', to: {take: count}, missing: fail}"), "line 3, column 80: rules[0].missing: missing has no meaning here: the rule has no attribute"},
	"count missing: 5":      {duel("{compare: {take: count}, is: '<', to: 8, missing: 5}"), "line 3, column 59: rules[0].missing: missing has no meaning here: the rule has no attribute"},
	"prefer missing: pass":  {duel("") + "prefer: [{rule: {compare: {take: count}, is: '<', to: 8, missing: pass}}]\n", "line 4, column 67: prefer[0].rule.missing: missing has no meaning here: the rule has no attribute"},
	"rating of a count":     {duel2("rules: [{compare: {take: count, of: a, by_role: {tank: b}}, is: '<', to: 3}]"), "line 3, column 49: rules[0].compare.by_role: by_role has no meaning here: players are counted"},
	"priority of a text":    {duel("{same: a}, {common: b}") + "priority: {by: b, up_to: 5m}\n", "line 4, column 16: priority.by: priority needs the type number, and common in line 3 needs list"},
	"endless priority":      {duel("") + "priority: {by: ahead}\n", "line 4, column 11: priority: priority needs the key up_to: a duration from 1s to 1h"},
	"long priority":         {duel("") + "priority: {by: ahead, up_to: 2h}\n", `line 4, column 30: priority.up_to: "2h" is not allowed: it must be a duration from 1s to 1h`},
	"priority alone":        {duel("") + "priority: ahead\n", `line 4, column 11: priority: "ahead" is not allowed: it must be a mapping with the keys by and up_to`},
	"priority in function":  {"name: a\nfunction: {host: f, port: 1}\npriority: {by: x, up_to: 5m}\n", "line 3, column 1: priority: a profile with a function has no priority"},
	"prefer widen":          {duel("") + "prefer: [{rule: {same: a, widen: [{after: 1s, same: any}]}}]\n", "line 4, column 34: prefer[0].rule.widen: a preference has no widen: no match waits for it"},
	"prefer fail":           {duel("") + "prefer: [{rule: {or: [{same: a, missing: fail}]}}]\n", "line 4, column 42: prefer[0].rule.or[0].missing: fail is not allowed: a preference excludes no ticket"},
	"prefer nothing":        {duel("") + "prefer: [{weight: 2}]\n", "line 4, column 10: prefer[0]: a preference needs the key rule"},
	"prefer a bare rule":    {duel("") + "prefer: [{same: a}]\n", "line 4, column 10: prefer[0]: a preference needs the key rule: a mapping with a kind of rule"},
	"prefer a lot":          {duel("") + "prefer: [" + strings.Repeat("{rule: {sizes: 1}}, ", 6) + "]\n", "line 4, column 9: prefer: a list of 6 is not allowed: it must be a list of 0 to 5"},
	"prefer nobody":         {duel("") + "prefer: [{rule: {same: a}, weight: 0}]\n", "line 4, column 36: prefer[0].weight: 0 is not allowed: it must be a number from 0.001 to 1000000"},
	"prefer twice":          {duel("{same: a, id: x}") + "prefer: [{rule: {same: b, id: x}}]\n", `line 4, column 31: prefer[0].rule.id: "x" is the id of another rule`},
	"prefer a number":       {duel("{common: a}") + "prefer: [{rule: {near: a, within: 1}}]\n", "line 4, column 24: prefer[0].rule.near: near needs the type number, and common in line 3 needs list"},
	"prefer in function":    {"name: a\nfunction: {host: f, port: 1}\nprefer: [{rule: {same: a}}]\n", "line 3, column 1: prefer: a profile with a function has no prefer"},
	"prefer what cannot be": {duel("{near: x, within: 5}") + "prefer: [{rule: {not: {near: x, within: 10}}}]\n", "line 4, column 23: prefer[0].rule.not: no match can satisfy this preference: the greatest and the least x differ by more than 10, and by near-x in line 3"},
	"autofill":              {duel("") + "autofill: 60s\n", "line 4, column 11: autofill: autofill has no meaning here: no team has roles"},
	"autofilled":            {duel2("autofill: soon"), "line 3, column 11: autofill: \"soon\" is not allowed: it must be a duration from 1ms to 24h"},
	"autofill misspelt":     {duel2("autofil: 60s"), "line 3, column 1: autofil: a profile has no such key: did you mean autofill?"},
	"ascending":             {duel("{near: skill, within: 5, widen: [{after: 10s, within: 6}, {after: 9s, within: 7}]}"), "line 3, column 75: rules[0].widen[1].after: 9s is not allowed: after ascends"},
	"after any":             {duel("{near: skill, within: 5, widen: [{after: 10s, within: any}, {after: 11s, within: 7}]}"), "line 3, column 69: rules[0].widen[1]: no step can follow"},
	"stricter":              {duel("{near: skill, within: 5, widen: [{after: 10s, within: 4}]}"), "line 3, column 63: rules[0].widen[0].within: 4 is not allowed: the step before is wider"},
	"empty step":            {duel("{near: skill, within: 5, widen: [{after: 10s}]}"), "line 3, column 42: rules[0].widen[0]: a step needs a new limit: within"},
	"step of another":       {duel("{near: skill, within: 5, widen: [{after: 10s, latency: 50ms}]}"), "line 3, column 55: rules[0].widen[0].latency: a step has no such key: it has after or within"},
	"17 steps":              {duel("{near: skill, within: 5, widen: [" + steps(17) + "]}"), "line 3, column 41: rules[0].widen: a list of 17 is not allowed"},
	"257 steps":             {duel("{near: skill, within: 5, widen: {every: 1s, add: 1, until: 262}}"), "line 3, column 41: rules[0].widen: this makes more than 256 steps"},
	"linear stricter":       {duel("{near: skill, within: 5, widen: {every: 1s, add: 1, until: 3}}"), "line 3, column 41: rules[0].widen: steps of 1 do not lead from the limit to until: 3"},
	"linear to nowhere":     {duel("{near: skill, within: 5, widen: {every: 1s, add: 0, until: 9}}"), "line 3, column 41: rules[0].widen: steps of 0 do not lead"},
	"NaN":                   {duel("{near: skill, within: .nan}"), "line 3, column 31: rules[0].within: .nan is not allowed: it must be a number of 0 or more"},
	"infinite":              {duel("{near: skill, within: 1e999}"), "line 3, column 31: rules[0].within: 1e999 is not allowed"},
	"rounded":               {duel("{compare: {of: id}, is: '=', to: 76561198000000001}"), "line 3, column 42: rules[0].to: 76561198000000001 is not allowed: it must be a number that 64 bits"},
	"rounded value":         {duel("{same: id, missing: 9007199254740993}"), "line 3, column 29: rules[0].missing: 9007199254740993 is not allowed"},
	"negative":              {duel("{near: skill, within: -1}"), "line 3, column 31: rules[0].within: -1 is not allowed"},
	"no within":             {duel("{near: skill}"), `line 3, column 9: rules[0]: a rule of the kind "near" needs the key within`},
	"type":                  {duel("{near: clan, within: 1}") + "attributes: {clan: {type: string}}\n", "line 3, column 16: rules[0].near: near needs the type number, and attributes.clan says string"},
	"two types":             {duel("{near: clan, within: 1}, {common: clan}"), "line 3, column 43: rules[1].common: common needs the type list, and near in line 3 needs number"},
	"type of missing":       {duel("{near: skill, within: 1, missing: [a]}"), "line 3, column 43: rules[0].missing: a list of 1 is not allowed: the attribute skill has the type number"},
	"type of default":       {duel("") + "attributes: {clan: {type: string, default: 5}}\n", "line 4, column 44: attributes.clan.default: 5 is not allowed: the type of the attribute is string"},
	"default ids":           {duel("{near: skill, within: 1}, {near: skill, within: 2, per: team}"), `line 3, column 35: rules[1]: this rule and another one would both be called "near-skill"`},
	"ids":                   {duel("{near: a, within: 1, id: x}, {near: b, within: 2, id: x}"), `line 3, column 63: rules[1].id: "x" is the id of another rule`},
	"role of nobody":        {duel("{near: a, within: 1, role: tank}"), `line 3, column 36: rules[0].role: no team has a role "tank"`},
	"balance of one":        {"name: a\nteams: [{name: a, players: 2}]\nrules: [{balance: a, within: 1}]\n", `line 3, column 9: rules[0]: a rule of the kind "balance" compares teams`},
	"large":                 {"name: a\nteams: [{name: a, players: 41}]\nrules: [{different: a}]\n", `line 3, column 9: rules[0]: a rule of the kind "different" is for matches of at most 40 players`},
	"33 rules":              {duel(rules(33)), "line 3, column 8: rules: a list of 33 is not allowed"},
	"33 rules within":       {duel(rules(26) + ", {or: [" + rules(6, 100) + "]}"), "line 3, column 8: rules: 33 rules are too many"},
	"deep rules":            {duel("{or: [{and: [{or: [{not: {same: a}}]}]}]}"), "line 3, column 28: rules[0].or[0].and[0].or[0]: or, and, not are nested too deeply"},
	"widen in not":          {duel("{not: {near: a, within: 1, widen: [{after: 1s, within: 2}]}}"), "line 3, column 43: rules[0].not.widen: a rule within not has no widen"},
	"count of nothing":      {duel("{count: a, any_of: [b]}"), `line 3, column 9: rules[0]: a rule of the kind "count" needs min, max or both`},
	"count too many":        {duel("{count: a, any_of: [b], min: 5}"), "line 3, column 9: rules[0]: min 5 is not allowed: a match has at most 4 players"},
	"accept":                {duel("") + "accept: {within: 46s}\n", `line 4, column 18: accept.within: "46s" is not allowed: it must be a duration from 1s to 45s`},
	"duration":              {duel("") + "ttl: 90\n", "line 4, column 6: ttl: 90 is not allowed: it must be a duration from 10s to 24h, with its unit"},
	"data":                  {duel("") + "data: " + `"` + long(4096) + `"` + "\n", "line 4, column 7: data: 4098 bytes as JSON are too many"},
	"zero in data":          {duel("") + `data: "\0"` + "\n", "line 4, column 7: data: the character U+0000 is not allowed"},
	"size":                  {duel("") + "# " + long(65536), "line 1, column 1: the document has "},
	"compare each":          {duel("{compare: {of: a}, is: \"<\", to: {of: b}}"), "line 3, column 41: rules[0].to: each is not allowed on this side"},
	"compare nothing":       {duel("{compare: {take: sum}, is: \"<\", to: 5}"), "line 3, column 19: rules[0].compare: sum needs the key of"},
	"compare nobody":        {duel("{compare: {take: sum, of: a, in: green}, is: \"<\", to: 5}"), `line 3, column 42: rules[0].compare.in: there is no team "green": there are match, red or blue`},
	"word":                  {duel("") + "age: oldst\n", `line 4, column 6: age: "oldst" is not allowed: it must be oldest, youngest, mean or each; did you mean oldest?`},
	"order":                 {duel("") + "order: [{descending: true}]\n", "line 4, column 9: order[0]: a criterion of order needs either distance or value"},
}
