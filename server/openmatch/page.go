package openmatch

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// pages are the encoded messages of a query's answer, each a repeated field with number 1, bounded by items and bytes.
type pages struct {
	maxItems int // of a page
	maxBytes int // of a page with more than one item

	finishedPages [][]byte
	page          []byte
	items         int
}

func (p *pages) add(item []byte) {
	const tag = 1
	need := protowire.SizeTag(tag) + protowire.SizeBytes(len(item))
	// An item that is larger than a page has a page for itself.
	if p.items == p.maxItems || p.items > 0 && len(p.page)+need > p.maxBytes {
		p.flush()
	}
	p.page = protowire.AppendBytes(protowire.AppendTag(p.page, tag, protowire.BytesType), item)
	p.items++
}

func (p *pages) flush() {
	p.finishedPages = append(p.finishedPages, p.page)
	p.page, p.items = nil, 0
}

// allPages returns the pages; none where nothing was added.
func (p *pages) allPages() [][]byte {
	if p.items > 0 {
		p.flush()
	}
	return p.finishedPages
}
