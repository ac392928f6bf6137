package wire

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/nodetest"
)

// msgpackr packs what it gets as JSON, or unpacks base64: the packer and the settings are those of the SDK. An integer
// that it reads as a BigInt is an error, as it is in the SDK, where JSON.stringify throws.
const msgpackr = `
	const {pack, unpack} = require('msgpackr');
	var answer = ({pack: value, unpack: frame}) => frame ? {value: unpack(Buffer.from(frame, 'base64'))} : {frame: pack(value).toString('base64')};`

type msgpackrAnswer struct {
	Frame []byte
	Value any
}

func TestNodeReadsWhatTheDirectorPacks(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, msgpackr)
	rapid.Check(t, func(t *rapid.T) {
		p := payloads().Filter(noPrototypes).Draw(t, "p")
		raw := rapid.Bool().Draw(t, "as JSON")
		out := Outgoing{Type: "state.patch", Room: "a:b", P: p}
		if raw {
			out.P = RawJSON(p)
		}
		var theirs msgpackrAnswer
		node.Ask(t, map[string]any{"unpack": base64.StdEncoding.EncodeToString(msgpackCodec{}.Encode(out))}, &theirs)
		want := map[string]any{"v": 1.0, "t": "state.patch", "room": "a:b"}
		if out.P != nil {
			want["p"] = p
		}
		require.Equal(t, want, theirs.Value)
	})
}

func TestNodePacksWhatTheDirectorReads(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, msgpackr)
	rapid.Check(t, func(t *rapid.T) {
		p := payloads().Draw(t, "p")
		var theirs msgpackrAnswer
		node.Ask(t, map[string]any{"pack": RawJSON(map[string]any{"v": 1, "t": "echo", "rid": "rpc-1", "p": p})}, &theirs)
		got, err := msgpackCodec{}.Decode(theirs.Frame)
		require.NoError(t, err)
		require.Equal(t, Envelope{Type: "echo", RID: "rpc-1", P: p}, got)
	})
}

// Values of JavaScript that JSON does not have.
func TestNodePacksUndefinedAndOtherValues(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, `
		const {pack} = require('msgpackr');
		const frames = {
			join: () => ({v: 1, t: 'room.join_or_create', rid: 'rpc-2', p: {roomType: 'lobby', roomId: undefined, options: undefined}}),
			holes: () => ({v: 1, t: 'x', p: [1, undefined, NaN, -Infinity, -0, 2 ** 53, 10n, -1e10]}),
			date: () => ({v: 1, t: 'x', rid: 'rpc-3', p: new Date()}),
			bytes: () => ({v: 1, t: 'x', rid: 'rpc-4', p: new Uint8Array(3)}),
			map: () => ({v: 1, t: 'x', rid: 'rpc-5', p: new Map([[1, 2]])}),
		};
		var answer = name => ({frame: pack(frames[name]()).toString('base64')});`)
	frame := func(name string) []byte {
		var theirs msgpackrAnswer
		node.Ask(t, name, &theirs)
		return theirs.Frame
	}
	require.Equal(t, unhex(t, sdkJoin), frame("join"))
	got, err := msgpackCodec{}.Decode(frame("holes"))
	require.NoError(t, err)
	require.Equal(t, []any{1.0, nil, nil, nil, 0.0, 9007199254740992.0, 10.0, -1e10}, got.P)
	for name, rid := range map[string]string{"date": "rpc-3", "bytes": "rpc-4", "map": "rpc-5"} {
		_, err := msgpackCodec{}.Decode(frame(name))
		var bad *FrameError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, rid, bad.RID, name)
	}
}

// noPrototypes excludes the key that msgpackr renames.
func noPrototypes(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, element := range v {
			if key == "__proto__" || !noPrototypes(element) {
				return false
			}
		}
	case []any:
		for _, element := range v {
			if !noPrototypes(element) {
				return false
			}
		}
	}
	return true
}
