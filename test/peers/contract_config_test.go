package peers

import (
	"fmt"
	"strings"

	"github.com/lattice-director/director/test/rigtest"
)

// config returns the configuration of Schemathesis.
func (c contractRun) config(r *contractRig) string {
	// What the contract cannot say of a text: how many bytes it may have, and that NUL is refused in any.
	statusOfUnsaid := ""
	if c.codec == "" {
		statusOfUnsaid = "400,"
	}
	var text strings.Builder
	incarnation := rigtest.QueryOne[string](r.Rig, "SELECT incarnation::text FROM instances WHERE id = 'eu-arena-1'")
	fmt.Fprintf(&text, contractChecks, incarnation, r.QueueFor("alice", "ranked-5v5"), r.seatInCalm(), statusOfUnsaid)
	if c.isComplete {
		text.WriteString(r.knownParameters())
	}
	own := c.credentials(r)
	for scheme, credential := range map[string]struct{ key, secret string }{
		"fleetToken": {"api_key", own.fleet}, "deploymentToken": {"api_key", own.deployment}, "backendToken": {"bearer", own.backend},
		"operatorToken": {"bearer", own.operator}, "accessToken": {"bearer", own.player},
	} {
		if credential.secret != "" {
			fmt.Fprintf(&text, "[auth.openapi.%s]\n%s = %q\n", scheme, credential.key, credential.secret)
		}
	}
	return text.String()
}

// contractChecks bounds what a request that the contract's schemas accept may be refused with: with 400 only where a
// rule binds two fields, or a field to the caller, which no schema says.
const contractChecks = `
request-timeout = 20.0
max-stream-events = 1

[dictionaries]
profiles = {values = ["ranked-5v5"]}
instances = {values = ["eu-arena-1"]}
incarnations = {values = [%q]}
tickets = {values = [%q]}
sessions = {values = [%q]}
calm = {values = ["` + calmInstance + `"]}
modes = {values = ["duel"]}
regions = {values = ["eu-west", "` + crowdedRegion + `", "` + otherRegion + `"]}

# A wait of a minute finds nothing that one of a moment does not find. Some names are of things that there are.
[parameters]
wait = "10ms"
"path.name" = {dictionary = "profiles", probability = 0.5}
"body.instance_id" = {dictionary = "instances", probability = 0.5}
"body.incarnation" = {dictionary = "incarnations", probability = 0.5}
"body.region" = {dictionary = "regions", probability = 0.5}
"body.mode" = {dictionary = "modes", probability = 0.5}
"query.region" = {dictionary = "regions", probability = 0.5}

[[operations]]
include-operation-id = ["getTicket", "cancelTicket", "watchTicket"]
parameters = {"path.id" = {dictionary = "tickets", probability = 0.5}}

[[operations]]
include-operation-id = "listSessions"
parameters = {"query.instance_id" = {dictionary = "calm", probability = 0.5}}

[[operations]]
include-operation-id = "getSession"
parameters = {"path.id" = {dictionary = "sessions", probability = 0.5}}

# Erasing alice would take all tickets of the other operations out of the queue.
[[operations]]
include-operation-id = "erasePlayer"
parameters = {"path.sub" = "mallory"}

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", %s 401, 403, 404, 409, 410, 412, 413, 421, 422, 426]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 422]

# Cancelled tickets can still be read, and what is forgotten or deregistered is so again.
[checks.use_after_free]
enabled = false

# A lobby takes the place of the party; the party has the caller in it; each that left has a connection or none has; only a
# deployment's server names its provider; a client's id has 63 bits; names of attributes, and metadata, have rules for
# names of properties; a kind of events has to be one that there is; a page of sessions begins after one of the instance.
# Players whom a region does not admit get 429.
[[operations]]
include-operation-id = ["createTicket", "createBackendTicket", "matchmake", "reportSeats", "registerInstance", "reportClients",
  "putBackendPlayers", "putBackendPlayer", "changeLobbyRoom", "followEvents", "listSessions"]
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 403, 404, 409, 410, 412, 413, 421, 422, 429]

# GET of this path is the schema of profiles. Its other methods are those of a profile of this name, which PUT refuses.
[[operations]]
include-operation-id = "getProfileSchema"
[operations.checks.allow_header_conformance]
enabled = false

# The frames follow each other without a delimiter, which no JSON decoder reads, under the media type that bevygap has.
[[operations]]
include-operation-id = "streamServer"
[operations.checks]
response_schema_conformance.enabled = false
content_type_conformance.enabled = false
negative_data_rejection.enabled = false

# The contract says what the data of an event is, and Schemathesis reads the whole event by it.
[[operations]]
include-operation-id = ["watchTicket", "watchLoginQueue", "followEvents"]
[operations.checks.response_schema_conformance]
enabled = false

`
