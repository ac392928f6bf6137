package wire

// NegotiateCodec returns the codec that the director prefers of those that a client offers, or nil.
func NegotiateCodec(offered []string) Codec {
	var chosen Codec
	for _, name := range offered {
		switch name {
		// MessagePack is smaller and cheaper to decode, so it is chosen whatever the client's order is.
		case msgpackCodec{}.Name():
			return msgpackCodec{}
		case JSONCodec{}.Name():
			chosen = JSONCodec{}
		}
	}
	return chosen
}
