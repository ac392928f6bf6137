package wire

// The codes of failures, beside those of lobby.
const (
	CodeBadFrame     = "bad_frame"
	CodeVersion      = "unsupported_version"
	codeTypeRequired = "type_required"
	CodeTooLarge     = "too_large"
	CodeUnknownType  = "unknown_type"
	codeRoomRequired = "room_required"
	CodeRateLimited  = "rate_limited"
	CodeRefused      = "refused"
	CodeUnavailable  = "unavailable"
	CodeInvalid      = "invalid"
)
