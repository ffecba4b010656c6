package workspace

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// files is an index of git that we understand, see https://git-scm.com/docs/index-format.
type files struct {
	data    []byte
	entries []entry
	sum     hash.Hash // of data, which ends with it
}

// entry is a file in an index.
type entry struct {
	name  string
	mode  uint32
	stage uint16 // 0 if the file is merged
	known []byte // what the index knows about the file, see [stat]: a part of its data
}

const gitlink = 0o160000 // the mode of a submodule

// parseIndex reads an index. It does not understand all that git can write: compressed names, a part in another file, and what
// makes git look for changes in another way.
func parseIndex(data []byte) (f files, ok bool) {
	const header = 4 + 4 + 4
	if f.sum = checksum(data); f.sum == nil || len(data) < header+f.sum.Size() || string(data[:4]) != "DIRC" {
		return f, false
	}
	f.data = data
	version, rest := binary.BigEndian.Uint32(data[4:]), data[header:len(data)-f.sum.Size()]
	for range binary.BigEndian.Uint32(data[8:]) {
		var e entry
		if e, rest, ok = parseEntry(rest, version, f.sum.Size()); !ok {
			return f, false
		}
		f.entries = append(f.entries, e)
	}
	return f, harmless(rest)
}

func parseEntry(data []byte, version uint32, hashSize int) (e entry, rest []byte, ok bool) {
	const extended, stage = 1 << 14, 12
	flagsAt := len(stat{})*4 + hashSize
	nameAt := flagsAt + 2
	if version != 2 && version != 3 || len(data) < nameAt {
		return e, nil, false
	}
	flags := binary.BigEndian.Uint16(data[flagsAt:])
	if flags&extended != 0 {
		nameAt += 2
	}
	length := bytes.IndexByte(data[min(nameAt, len(data)):], 0)
	end := (nameAt + length + 8) &^ 7 // one to eight zeros
	if length < 0 || len(data) < end {
		return e, nil, false
	}
	e = entry{string(data[nameAt : nameAt+length]), binary.BigEndian.Uint32(data[modeAt:]), flags >> stage & 3, data[:len(stat{})*4]}
	return e, data[end:], true
}

// checksum returns the hash with which an index ends; nil if there is none.
func checksum(data []byte) hash.Hash {
	for _, sum := range []hash.Hash{sha1.New(), sha256.New()} {
		if end := len(data) - sum.Size(); end >= 0 {
			sum.Write(data[:end])
			if bytes.Equal(sum.Sum(nil), data[end:]) {
				return sum
			}
		}
	}
	return nil
}

// harmless reports whether the extensions of an index say nothing about its files.
func harmless(extensions []byte) bool {
	for len(extensions) > 0 {
		if len(extensions) < 8 {
			return false
		}
		size := uint64(binary.BigEndian.Uint32(extensions[4:]))
		switch string(extensions[:4]) {
		case "TREE", "REUC", "EOIE", "IEOT": // trees, conflicts that were resolved, where entries are
		default:
			return false
		}
		if uint64(len(extensions)-8) < size {
			return false
		}
		extensions = extensions[8+size:]
	}
	return true
}

// forget makes git read a file to know whether it has changed, as git itself marks it: the file seems to have had no content.
func (e entry) forget() { clear(e.known[sizeAt:]) }

// bytes returns the index after changes.
func (f files) bytes() []byte {
	end := len(f.data) - f.sum.Size()
	f.sum.Reset()
	f.sum.Write(f.data[:end])
	return f.sum.Sum(f.data[:end])
}
