package orchestrator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// FuzzCreateBody checks that any body is either a request that can be stored or is refused in one of three ways.
func FuzzCreateBody(f *testing.F) {
	for _, body := range []string{
		`{"type":"match"}`, `{"type":["match"],"roomId":7,"placement":{"instanceId":"a","labels":{"a":1},"force":"x"}}`, `{"type":"a","__proto__":{}}`,
		`{"type":"\ud800"}`, `{"type":1e400}`, `[[[[`, "\xff", `{"type":null,"placement":[]}`, `{"TYPE":"a"}`, `{"type":"a","x":` + strings.Repeat("[", 40),
	} {
		f.Add([]byte(body))
	}
	world := duelFleet()
	world.answer = db.CommandAnswer{FinalState: db.CommandDoneLate, CreatedRoom: world.agents[0].Rooms[1]}
	b := newRig(f, world)
	f.Fuzz(func(t *testing.T, body []byte) {
		b.created = nil
		r := httptest.NewRequest(http.MethodPost, "/v1/rooms", strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer "+adminKey)
		w := b.serve(r)
		switch w.Code {
		case 201:
			require.Len(t, b.created, 1)
			made := b.created[0]
			require.NotEmpty(t, made.Type)
			texts := []string{made.Type, made.RoomID, made.SpreadStrategy}
			for _, pin := range []*string{made.InstanceID, made.ProcessUID} {
				if pin != nil {
					require.NotEmpty(t, *pin)
					texts = append(texts, *pin)
				}
			}
			for key, value := range made.RequiredLabels {
				texts = append(texts, key, value)
			}
			for _, text := range texts {
				require.True(t, utf8.ValidString(text) && !hasNUL(text), "%q", text)
			}
			return
		case 413:
			rejected(t, w, 413, "PAYLOAD_TOO_LARGE")
			require.Greater(t, len(body), 64<<10)
		default:
			rejected(t, w, 400, "VALIDATION")
		}
		require.Empty(t, b.created)
	})
}

// FuzzPath checks that every path gets a JSON answer in the format of the protocol.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"/v1/rooms/a%2fb", "/v1/rooms/..", "//", "/v1/rooms?limit=1&after=x&label=a:b",
		"/v1/instances//rooms", "/%00", "/v1/stats?;", "*"} {
		f.Add(path)
	}
	b := newRig(f, duelFleet())
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		target, err := r.URL.Parse(path)
		if err != nil || strings.Contains(target.Path, "events") {
			return
		}
		r.URL = target
		r.Header.Set("Authorization", "Bearer "+adminKey)
		w := b.serve(r)
		require.True(t, json.Valid(w.Body.Bytes()), "%d %s", w.Code, w.Body)
		require.Contains(t, []int{200, 400, 404}, w.Code)
	})
}
