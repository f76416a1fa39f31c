"""One module per export format. Pure: text in, conversations or memories out."""
