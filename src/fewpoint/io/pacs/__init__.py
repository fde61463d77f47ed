"""A PACS that speaks DICOMweb: series fetched from it as files, segmentations stored in it.

addresses.py    dicomweb://HOST/ROOT/studies/UID/series/UID, checked
credentials.py  who we are there, from the environment or a netrc file
talking.py      one request and its answer, within limits of time and size, without redirects
multipart.py    the parts of an answer, as they come
service.py      studies, series, images and segmentations: the four things that a PACS is asked for
fetching.py     the folder of a series: kept in the cache, or fetched into it
storing.py      a DICOM SEG file stored, once

A PACS is a server of others: every answer is bounded, and images are decoded as all files of others are (io/apart).
"""
