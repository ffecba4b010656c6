package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"time"
)

// file is one inside an archive.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// tarball and zipped pack files in order. Nothing in them depends on the machine or the
// time: the time is that of the commit, and the files have no owner.
func tarball(files []file, at time.Time) ([]byte, error) {
	var to bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return to.Bytes(), err
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var to bytes.Buffer
	w := zip.NewWriter(&to)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return to.Bytes(), err
}
