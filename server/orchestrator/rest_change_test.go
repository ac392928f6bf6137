package orchestrator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

func (b rig) create(body string, headers ...string) *httptest.ResponseRecorder {
	return b.call(http.MethodPost, "/v1/rooms", body, headers...)
}

// Each row fixes how one kind of body is read.
func TestBodiesThatAreAccepted(t *testing.T) {
	t.Parallel()
	const long = 100
	for name, tc := range map[string]struct {
		body string
		want db.NewRoom
	}{
		"least":                        {`{"type":"match"}`, db.NewRoom{Type: "match"}},
		"number":                       {`{"type":42,"roomId":7}`, db.NewRoom{Type: "42", RoomID: "7"}},
		"numbers as JavaScript has it": {`{"type":1e21,"roomId":-0}`, db.NewRoom{Type: "1e+21", RoomID: "0"}},
		"large number":                 {`{"type":100000000000000000000,"roomId":1.50}`, db.NewRoom{Type: "100000000000000000000", RoomID: "1.5"}},
		"boolean":                      {`{"type":true,"roomId":false}`, db.NewRoom{Type: "true", RoomID: "false"}},
		"list of one":                  {`{"type":["match"],"roomId":[5]}`, db.NewRoom{Type: "match", RoomID: "5"}},
		"unknown members":              {`{"type":"match","x":{"y":[1]},"Type":"race","TYPE":1}`, db.NewRoom{Type: "match"}},
		"last of two":                  {`{"type":"race","type":"match"}`, db.NewRoom{Type: "match"}},
		"space around":                 {" \n{\"type\":\"match\"}\t", db.NewRoom{Type: "match"}},
		"any text as a type":           {`{"type":"😀<&> \ud83d\ude00"}`, db.NewRoom{Type: "😀<&> 😀"}},
		"empty placement":              {`{"type":"match","placement":{}}`, db.NewRoom{Type: "match"}},
		"pins": {
			`{"type":"match","placement":{"instanceId":"a","processUid":"p","force":true}}`,
			db.NewRoom{Type: "match", InstanceID: new("a"), ProcessUID: new("p"), IsForced: true},
		},
		"strategy": {`{"type":"match","placement":{"strategy":"most-loaded"}}`, db.NewRoom{Type: "match", SpreadStrategy: "most-loaded"}},
		"labels":   {`{"type":"match","placement":{"labels":{"region":"eu","":""}}}`, db.NewRoom{Type: "match", RequiredLabels: map[string]string{"region": "eu", "": ""}}},
		"null in placement": {
			`{"type":"match","placement":{"instanceId":null,"processUid":null,"strategy":null,"labels":null,"force":null}}`, db.NewRoom{Type: "match"},
		},
		"empty pins":                     {`{"type":"match","placement":{"instanceId":"","processUid":""}}`, db.NewRoom{Type: "match"}},
		"stray type in placement":        {`{"type":"match","placement":{"type":5}}`, db.NewRoom{Type: "match"}},
		"force by truthiness: 1":         {`{"type":"match","placement":{"force":1}}`, db.NewRoom{Type: "match", IsForced: true}},
		"force by truthiness: \"false\"": {`{"type":"match","placement":{"force":"false"}}`, db.NewRoom{Type: "match", IsForced: true}},
		"force by truthiness: {}":        {`{"type":"match","placement":{"force":{}}}`, db.NewRoom{Type: "match", IsForced: true}},
		"force by truthiness: 0":         {`{"type":"match","placement":{"force":0}}`, db.NewRoom{Type: "match"}},
		"force by truthiness: -0":        {`{"type":"match","placement":{"force":-0.0}}`, db.NewRoom{Type: "match"}},
		"force by truthiness: \"\"":      {`{"type":"match","placement":{"force":""}}`, db.NewRoom{Type: "match"}},
		"a label that is no string": {
			`{"type":"match","placement":{"labels":{"tier":1}}}`, db.NewRoom{Type: "match", RequiredLabels: map[string]string{"tier": ""}, NoMatch: true},
		},
		"a label that is null":    {`{"type":"match","placement":{"labels":{"tier":null}}}`, db.NewRoom{Type: "match", RequiredLabels: map[string]string{"tier": ""}, NoMatch: true}},
		"__proto__ as a value":    {`{"type":"__proto__"}`, db.NewRoom{Type: "__proto__"}},
		"a type that nobody has":  {`{"type":"` + strings.Repeat("t", long) + `"}`, db.NewRoom{Type: strings.Repeat("t", long)}},
		"an id that db judges":    {`{"type":"match","roomId":"a/b"}`, db.NewRoom{Type: "match", RoomID: "a/b"}},
		"nested as deep as we go": {`{"type":"match","x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, db.NewRoom{Type: "match"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := duelFleet()
			f.answer = db.CommandAnswer{FinalState: db.CommandDone, CreatedRoom: f.agents[0].Rooms[1]}
			b := newRig(t, f)
			w := b.create(tc.body)
			require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
			require.Len(t, b.created, 1)
			tc.want.Actor = rest.Fingerprint(adminKey)
			if tc.want.RequiredLabels == nil && len(b.created[0].RequiredLabels) == 0 {
				b.created[0].RequiredLabels = nil
			}
			require.Equal(t, tc.want, b.created[0])
		})
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	for name, body := range map[string]string{
		"no type": `{}`, "null type": `{"type":null}`, "empty type": `{"type":""}`, "list of none": `{"type":[]}`, "list of two": `{"type":["a","b"]}`,
		"list of a list": `{"type":[["a"]]}`, "list of null": `{"type":[null]}`, "object as type": `{"type":{}}`,
		"null id": `{"type":"a","roomId":null}`, "empty id": `{"type":"a","roomId":""}`, "object as id": `{"type":"a","roomId":{}}`,
		"null placement": `{"type":"a","placement":null}`, "text as placement": `{"type":"a","placement":"x"}`, "list as placement": `{"type":"a","placement":[{}]}`,
		"number as placement": `{"type":"a","placement":1}`, "number as instanceId": `{"type":"a","placement":{"instanceId":1}}`,
		"list as processUid": `{"type":"a","placement":{"processUid":["p"]}}`, "number as strategy": `{"type":"a","placement":{"strategy":1}}`,
		"list as labels": `{"type":"a","placement":{"labels":[]}}`, "text as labels": `{"type":"a","placement":{"labels":"a:b"}}`,
		"__proto__": `{"type":"a","__proto__":{}}`, "__proto__ within": `{"type":"a","x":[{"y":{"__proto__":1}}]}`,
		"__proto__ escaped": `{"type":"a","\u005f_proto__":1}`, "__proto__ in labels": `{"type":"a","placement":{"labels":{"__proto__":"x"}}}`,
		"no body": ``, "blank": ` `, "null": `null`, "list": `[]`, "text": `"a"`, "number": `1`, "cut off": `{"type":"a"`, "two": `{"type":"a"}{}`, "form": `type=a`,
		"NUL": `{"type":"a\u0000"}`, "NUL ignored": `{"type":"a","x":"\u0000"}`, "raw NUL": "{\"type\":\"a\x00\"}", "invalid UTF-8": "{\"type\":\"\xff\"}",
		"lone surrogate": `{"type":"\ud800"}`, "other half": `{"type":"a","roomId":"\udc00"}`, "surrogate in a key": `{"type":"a","placement":{"labels":{"\ud800":"x"}}}`,
		"deep list": `{"type":"a","x":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `}`, "deep and open": `{"type":"a","x":` + strings.Repeat("[", 60_000),
		"deep object": strings.Repeat(`{"a":`, 12_000), "number beyond float64": `{"type":1e400}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rejected(t, b.create(body, "Content-Type", "application/json"), 400, "VALIDATION")
		})
	}
	t.Cleanup(func() { require.Empty(t, b.created) })
}

func TestBodiesAreJudgedAfterTheKey(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	large := `{"type":"a","x":"` + strings.Repeat("x", 64<<10) + `"}`
	deep := `{"type":"a","x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	rejected(t, b.create(large), 413, "PAYLOAD_TOO_LARGE")
	rejected(t, b.create(deep), 413, "PAYLOAD_TOO_LARGE")
	rejected(t, b.create(large, "Authorization", "Bearer wrong"), 401, "UNAUTHORIZED")
	for _, contentType := range []string{"application/x-www-form-urlencoded", "text/plain",
		"application/json; charset=latin1", "nonsense;;"} {
		rejected(t, b.create(`{"type":"a"}`, "Content-Type", contentType), 415, "VALIDATION")
		rejected(t, b.create(`{"type":"a"}`, "Content-Type", contentType, "Authorization", ""), 401, "UNAUTHORIZED")
	}
	rejected(t, b.create(`{"type":"a"}`, "Content-Encoding", "gzip"), 415, "VALIDATION")
	require.Empty(t, b.created)

	chunked := httptest.NewRequest(http.MethodPost, "/v1/rooms", strings.NewReader(large))
	chunked.ContentLength = -1
	chunked.Header.Set("Authorization", "Bearer "+adminKey)
	rejected(t, b.serve(chunked), 413, "PAYLOAD_TOO_LARGE")
}

// Upstream answers 400 to a JSON content type without a body, which HTTP libraries send.
func TestBodiesOfOtherChangesAreIgnored(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	f.answer.FinalState = db.CommandDone
	b := newRig(t, f)
	for _, body := range []string{"", "{", strings.Repeat("x", 100_000)} {
		for _, contentType := range []string{"", "application/json", "text/plain"} {
			require.Equal(t, 200, b.call("DELETE", "/v1/rooms/match-42", body, "Content-Type", contentType).Code)
			require.Equal(t, 200, b.call("POST", "/v1/instances/a/drain", body, "Content-Type", contentType).Code)
		}
	}
}

func TestCommandsAreNamedAndKept(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	f.answer.FinalState = db.CommandDone
	b := newRig(t, f)
	for _, target := range []string{"drain", "drain?keep=true", "drain?keep=1", "drain?keep=", "undrain",
		"undrain?keep=true"} {
		require.Equal(t, 200, b.call("POST", "/v1/instances/a/"+target, "").Code)
	}
	by := rest.Fingerprint(adminKey)
	require.Equal(t, []string{
		"drain a by " + by, "drain a for good by " + by, "drain a by " + by, "drain a by " + by, "undrain a by " + by,
		"undrain a by " + by,
	}, b.commands)
}

// Each outcome of a command has one status and one code.
func TestOutcomesOfCommands(t *testing.T) {
	t.Parallel()
	stored := func(kind fault.Kind, code string) error {
		return &fault.Error{Kind: kind, Code: code, Detail: "secret"}
	}
	for _, tc := range []struct {
		state  db.CommandState
		err    error
		status int
		cause  string
	}{
		{db.CommandExists, nil, 409, "ROOM_EXISTS"},
		{db.CommandFailed, nil, 502, "COMMAND_FAILED"},
		{db.CommandDisconnected, nil, 502, "INSTANCE_DISCONNECTED"},
		{db.CommandTimedOut, nil, 504, "COMMAND_TIMEOUT"},
		{db.CommandPending, nil, 504, "COMMAND_TIMEOUT"},
		{"", stored(fault.Invalid, db.CodeValidation), 400, "VALIDATION"},
		{"", stored(fault.NotFound, db.CodeInstanceNotFound), 404, "INSTANCE_NOT_FOUND"},
		{"", stored(fault.NotFound, db.CodeRoomNotFound), 404, "ROOM_NOT_FOUND"},
		{"", stored(fault.Conflict, db.CodeRoomExists), 409, "ROOM_EXISTS"},
		{"", stored(fault.Conflict, db.CodeInstanceDraining), 409, "INSTANCE_DRAINING"},
		{"", stored(fault.NoCapacity, db.CodeNoCandidate), 409, "NO_CANDIDATE"},
		{"", stored(fault.TooMany, db.CodeInstanceBusy), 429, "INSTANCE_BUSY"},
		{"", stored(fault.Gone, db.CodeInstanceDisconnected), 502, "INSTANCE_DISCONNECTED"},
		{"", errAway, 503, "NOT_READY"},
		{"", stored(fault.TooMany, "busy"), 503, "NOT_READY"},
		{"", stored(fault.Superseded, "ended"), 503, "NOT_READY"},
		{"", stored(fault.Conflict, "conflict"), 500, "INTERNAL"},
		{"", stored(fault.NotFound, "not_found"), 500, "INTERNAL"},
		{"", errors.New("secret"), 500, "INTERNAL"},
	} {
		f := duelFleet()
		f.answer, f.err = db.CommandAnswer{FinalState: tc.state}, tc.err
		b := newRig(t, f)
		rejected(t, b.create(`{"type":"match"}`), tc.status, tc.cause)
		rejected(t, b.call("DELETE", "/v1/rooms/a", ""), tc.status, tc.cause)
		rejected(t, b.call("POST", "/v1/instances/a/drain", ""), tc.status, tc.cause)
		rejected(t, b.call("POST", "/v1/instances/a/undrain", ""), tc.status, tc.cause)
	}
}
