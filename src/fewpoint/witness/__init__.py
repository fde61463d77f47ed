"""Pretrained models as witnesses, for those who have them: how they are kept, asked, and how far they are believed."""
