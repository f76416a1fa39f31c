"""One module per format of other people's exports. Pure: text in, conversations out."""
