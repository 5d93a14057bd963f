"""The numbers of the five documents, grouped by what they are about; see scripts/requirements.py for the checks."""

from scripts.documents.group import Document as Document
from scripts.documents.group import Group as Group
from scripts.documents.s0 import S0
from scripts.documents.s1 import S1
from scripts.documents.s2 import S2
from scripts.documents.s3 import S3
from scripts.documents.s4 import S4

DOCUMENTS = (S0, S1, S2, S3, S4)
