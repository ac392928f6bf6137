package openmatch

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// pages are the encoded messages of a query's answer, each a repeated field with number 1, bounded by items and bytes.
type pages struct {
	maxItems int // of a page
	maxBytes int // of a page with more than one item

	done  [][]byte
	page  []byte
	items int
}

func (p *pages) add(item []byte) {
	const tag = 1
	need := protowire.SizeTag(tag) + protowire.SizeBytes(len(item))
	if p.items == p.maxItems || p.items > 0 && len(p.page)+need > p.maxBytes {
		p.flush()
	}
	p.page = protowire.AppendBytes(protowire.AppendTag(p.page, tag, protowire.BytesType), item)
	p.items++
}

func (p *pages) flush() {
	p.done = append(p.done, p.page)
	p.page, p.items = nil, 0
}

// all returns the pages; none where nothing was added.
func (p *pages) all() [][]byte {
	if p.items > 0 {
		p.flush()
	}
	return p.done
}
