package realtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/wire"
)

func TestParseHandshake(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]requestedSession{
		`{"v":1,"codecs":["msgpack","json"],"project_id":" p ","token":"\tt ","session_id":"s-1"}`: {[]string{"msgpack", "json"}, "p", "t", "s-1"},
		`{"v":1.0,"codecs":["json"]}`: {[]string{"json"}, "", "", ""},
		`{"v":1,"t":"handshake","p":{"codecs":["json"],"token":"t"},"token":"not this one"}`: {[]string{"json"}, "", "t", ""},
		`{"v":1,"codecs":null,"token":null,"session_id":null,"future":[{}]}`:                 {},
		" \n" + `{"v":1,"t":"","codecs":["x"]}`:                                              {Codecs: []string{"x"}},
	} {
		a, refused := parseHandshake([]byte(text))
		require.Nil(t, refused, text)
		require.Equal(t, expected, a, text)
	}
	for text, code := range map[string]string{
		``: wire.CodeBadFrame, `null`: wire.CodeBadFrame, `[]`: wire.CodeBadFrame, `"v"`: wire.CodeBadFrame, `{"v":1`: wire.CodeBadFrame, "\xde\x00\x00": wire.CodeBadFrame,
		`{"v":1,"codecs":"json"}`: wire.CodeBadFrame, `{"v":1,"codecs":[1]}`: wire.CodeBadFrame, `{"v":1,"token":1}`: wire.CodeBadFrame, `{"v":"1"}`: wire.CodeBadFrame,
		`{"v":1,"t":"room.list"}`: wire.CodeBadFrame, `{"v":1,"t":"handshake"}`: wire.CodeBadFrame, `{"v":1,"t":"handshake","p":[]}`: wire.CodeBadFrame,
		`{}`: wire.CodeVersion, `{"v":2}`: wire.CodeVersion, `{"v":1.5}`: wire.CodeVersion, `{"v":null}`: wire.CodeVersion,
		`{"v":2,"codecs":1}`: wire.CodeVersion, // the version is judged first
	} {
		_, refused := parseHandshake([]byte(text))
		require.NotNil(t, refused, text)
		require.Equal(t, code, refused.code, text)
		require.Equal(t, closeBadRequest, refused.closeCode)
	}
}

func FuzzParseHandshake(f *testing.F) {
	for _, seed := range []string{`{"v":1,"codecs":["json"],"token":"t"}`, `{"v":1,"t":"handshake","p":{}}`, `null`, "\xde", `{"v":1e400}`, `[[[[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		a, refused := parseHandshake(frame)
		if refused != nil {
			require.NotEmpty(t, refused.reason)
			require.Empty(t, a.Token)
		}
	})
}
