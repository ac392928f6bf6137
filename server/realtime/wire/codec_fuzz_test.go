package wire

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any frame is read as an envelope that both codecs write and read again, or refused with a reason.
func FuzzDecode(f *testing.F) {
	join, _ := hex.DecodeString(sdkJoin)
	for _, seed := range [][]byte{
		join, []byte(`{"v":1,"t":"echo","rid":"rpc-1","room":"a:b","p":{"a":[1,-0,1e400,"\ud800"],"__proto__":{},"9":null}}`),
		[]byte(`{"v":1,"t":"x","p":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`),
		[]byte("\x82\xa1v\x01\xa1t\xa1x"), []byte("\x83\xa1v\x01\xa1t\xa1x\xa1p\xd4\x00\x00"), []byte("\x83\xa1v\x01\xa1t\xa1x\xa1p\xdd\x40\x00\x00\x00"),
		[]byte("\x83\xa1v\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa1t\xa1x\xa1p\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("null"), []byte("\xc1"), {},
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, binary bool) {
		c := codecs[0]
		if binary {
			c = codecs[1]
		}
		e, err := c.Decode(frame)
		if err != nil {
			var broken *FrameError
			require.ErrorAs(t, err, &broken)
			why, known := FailureOf(err)
			require.True(t, known)
			require.NotEmpty(t, why.Code)
			require.NotEmpty(t, JSONCodec{}.Encode(FailureResponse(broken.RID, "", why)))
			return
		}
		require.NotEmpty(t, e.Type)
		for _, other := range codecs {
			again, err := other.Decode(other.Encode(Outgoing{Type: e.Type, RID: e.RID, Room: e.Room, P: e.P}))
			if why := (*FrameError)(nil); errors.As(err, &why) && why.Code == CodeTooLarge {
				continue // what took fewer bytes in the frame
			}
			require.NoError(t, err)
			require.Equal(t, e.Type, again.Type)
			require.Equal(t, e.RID, again.RID)
			require.Equal(t, e.Room, again.Room)
			require.Equal(t, finite(e.P), again.P, other.Name())
		}
	})
}

// finite returns a payload as it is written: numbers that JSON does not have are null, and there is one zero.
func finite(v value) value {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v + 0
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = finite(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[key] = finite(element)
		}
		return out
	}
	return v
}
