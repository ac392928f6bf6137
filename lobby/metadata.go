package lobby

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/lattice-director/director/lobby/esjson"
)

// Bounds of the metadata of a room.
const (
	maxMetadata      = 2 << 10 // bytes
	maxMetadataKeys  = 16
	maxMetadataKey   = 64  // bytes
	maxMetadataValue = 256 // bytes
)

// ParseMetadata reads what a list shows of a room beside its own fields: an object of up to 16 keys of 1 to 64 bytes,
// whose values are texts of up to 256 bytes, numbers, true or false; 2 KiB in all. Errors: code invalid, which names
// field.
func ParseMetadata(field string, raw json.RawMessage) (json.RawMessage, error) {
	cleaned, err := cleanJSON(field, raw)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	// null, and a number beyond a double, leave the map nil.
	if json.Unmarshal(cleaned, &values) != nil || values == nil || len(values) > maxMetadataKeys {
		return nil, Invalid(field, "must be an object of at most %d keys", maxMetadataKeys)
	}
	for key, value := range values {
		if !validName(key, maxMetadataKey) || !validMetadata(value) {
			return nil, Invalid(field, "must have keys of 1 to %d bytes without spaces, and texts of at most %d bytes, "+
				"numbers, true and false as values", maxMetadataKey, maxMetadataValue)
		}
	}
	if len(cleaned) > maxMetadata {
		return nil, Invalid(field, "must have at most %d bytes", maxMetadata)
	}
	return cleaned, nil
}

// validMetadata accepts what lists can filter by and show: no objects, and no characters that break a line of a list.
func validMetadata(value any) bool {
	switch v := value.(type) {
	case string:
		return len(v) <= maxMetadataValue && !strings.ContainsFunc(v, unicode.IsControl)
	case float64, bool:
		return true
	}
	return false
}

// setMetadata replaces the metadata by what [ParseMetadata] returned.
func (t *Types) setMetadata(r *Room, metadata json.RawMessage) {
	if string(metadata) == "{}" {
		metadata = nil
	}
	r.Metadata = metadata
	if metadata == nil {
		t.hideDetail(r, "metadata")
	} else {
		t.showDetail(r, "metadata", metadata)
	}
}

// metadataValues decodes metadata; nil if there is none.
func metadataValues(metadata json.RawMessage) map[string]any {
	value, _ := esjson.ParseText(metadata)
	values, _ := value.(map[string]any)
	return values
}
