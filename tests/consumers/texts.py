"""A helper in a file of its own that hands the text of each chunk on."""


def texts(stream):
    for chunk in stream:
        if chunk.choices:
            yield chunk.choices[0].delta.content or ""
