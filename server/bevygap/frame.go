package bevygap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strconv"
)

// The frames, as serde_json writes them: compact, and a variant without fields is a bare string.
//
// bevygap's client panics if the token of SessionReady is not 2,048 bytes in padded standard base64, or if ip and port,
// joined by a colon, are not a socket address.

var acknowledged = []byte(`"Acknowledged"`)

func encodeAccepted(id string) []byte {
	return encodeFrame(struct{ SessionRequestAccepted string }{id})
}

func encodeProgress(text string) []byte {
	return encodeFrame(struct{ ProgressReport string }{text})
}

func encodeReady(c Connection) []byte {
	type sessionReady struct {
		Token      string `json:"token"`
		IP         string `json:"ip"`
		Port       uint16 `json:"port"`
		CertDigest string `json:"cert_digest"`
		ClientID   string `json:"client_id"` // decimal; bevygap's client ignores it
	}
	return encodeFrame(struct{ SessionReady sessionReady }{sessionReady{
		base64.StdEncoding.EncodeToString(c.Token), hostText(c.IP), c.Port, c.CertDigest,
		strconv.FormatUint(c.ClientID, 10),
	}})
}

func encodeFailure(f failure) []byte {
	return encodeFrame(struct{ Error [2]any }{[2]any{f.code, f.text}})
}

// hostText returns an address as it stands before a port.
func hostText(a netip.Addr) string {
	plain := a.Unmap().WithZone("")
	if plain.Is6() {
		return "[" + plain.String() + "]"
	}
	return plain.String()
}

func encodeFrame(frame any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // serde_json escapes no HTML, and the frames are to be its bytes
	_ = enc.Encode(frame)    // strings and numbers always encode
	return bytes.TrimRight(out.Bytes(), "\n")
}
